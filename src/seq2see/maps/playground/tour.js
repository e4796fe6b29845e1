// Everything the page says, in both languages: its few words, and the texts of the tour. A text that depends on what was
// found is a function of it.

const q = (text) => `\u201c\u2068${text}\u2069\u201d`; // isolated, whichever way it is written
const short = (text) => (text.length > 48 ? `${text.slice(0, 45).trimEnd()}\u2026` : text);
const one = (count, word) => `${thousands(count)} ${word}${count === 1 ? '' : 's'}`;

const WORDS = {
  en: {
    skip: 'Skip to the map', motto: 'A trained model in this page: type, switch off, look', page: 'Page', tour: 'Tour', other: '中文',
    back: 'Back', next: 'Next', leave: 'Leave the tour',
    source: 'Source', examples: 'Examples', ownText: 'your own text', output: 'Output', again: 'write again',
    wordsTitle: 'Words of the source: press one to leave it out', wordsLabel: 'Words left out are', unseen: 'unseen', removed: 'removed',
    leaveOut: (word) => `leave out ${q(word)}`, unknown: 'the model does not know this',
    tabs: '\u21e5 (or \\t) stands between tags and text.',
    decoding: 'Decoding', greedy: 'greedy', beam: (size) => `beam of ${size}`,
    tokensTitle: 'Tokens of the output: press one to see what else was probable',
    cut: 'cut at the length limit', nothing: 'nothing',
    unchanged: 'without changes', trainedLine: 'trained', reference: 'reference',
    right: ' as the reference', wrong: ' not as the reference', same: ' the same',
    speed: (milliseconds) => `${Math.max(1, Math.round(milliseconds))} ms`,
    training: 'Training', stage: { untrained: 'untrained', 'half-trained': 'half-trained', trained: 'trained' },
    stageName: (name, step) => `${name}, step ${thousands(step)}`, steps: (step) => `step ${thousands(step)}`,
    heads: 'All heads', headsNote: 'press a map to look, a dot to switch',
    kind: { encoder: 'Encoder', decoder: 'Decoder', cross: 'Cross' },
    kindTitle: { encoder: 'Encoder self-attention', decoder: 'Decoder self-attention', cross: 'Cross-attention' },
    kindNote: { encoder: 'source to source', decoder: 'target to target', cross: 'target to source' },
    head: (layer, head) => `layer ${layer + 1}, head ${head + 1}`, layer: (layer) => `layer ${layer + 1}`,
    whole: (kind, layer) => `${WORDS.en.kindTitle[kind]}, ${WORDS.en.layer(layer)}`,
    full: ({ kind, layer, head }) => `${WORDS.en.kindTitle[kind].toLowerCase()}, ${WORDS.en.head(layer, head)}`,
    rowsLabel: 'A row is named for what it', predicts: 'predicts', reads: 'reads', readSoFar: 'read so far',
    showsLabel: 'The map shows', this: 'this', difference: 'difference',
    scaleLabel: 'Scale of colours', linear: '0 to 1', sqrt: 'root', row: 'by row', largest: 'row\u2019s largest',
    plateKeys: 'Arrow keys move the chosen cell; Enter makes its row look only there.',
    zoom: 'Size of the map', smaller: 'Smaller', fit: 'fit', larger: 'Larger', hidden: 'hidden',
    reading: 'The chosen cell',
    at: (label) => `at ${q(label)}`, predicting: (label) => `when predicting ${q(label)}`, afterReading: (label) => `when reading ${q(label)}`,
    goes: (head, when, share, key) => `${head}: ${when}, ${share} of the attention goes to ${q(key)}.`,
    more: (head, when, share, key) => `${head}: ${when}, ${share} of the attention to ${q(key)} than without the changes.`,
    signed: (size, isMore) => `${size} ${isMore ? 'more' : 'less'}`,
    later: (head, when, key) => `${head}: ${when}, ${q(key)} cannot be seen; it comes later.`,
    chooseCell: 'Choose a cell to read it.',
    look: 'Make this row look only here', lookTitle: 'Enter, double click, or drag along the row if the map does not scroll',
    forcedMark: 'made to look here', changes: 'Changes in force', none: 'None. Everything is as it was trained.', reset: 'Undo all', undo: (change) => `undo: ${change}`,
    isOff: (name) => `${name} off`, isForced: (name, query, key) => `${name}: ${q(query)} looks at ${q(key)}`,
    isUnseen: (word) => `${q(word)} unseen`, isRemoved: (word) => `${q(word)} removed`, isStage: (name) => `as it was at ${name}`,
    place: (place) => `place ${place + 1}`,
    candidatesTitle: (token) => `In the place of ${q(token)}`, chooseToken: 'Press a token of the output to see what else was probable there.',
    held: 'What the beam held', ranked: (value, ended) => `log-probability ${value}${ended ? '' : `, ${WORDS.en.cut}`}`,
    sayOutput: (text) => `Output: ${text}`,
    on: 'on', off: 'off',
    tooLong: (length, most) => `this source has ${length} tokens with its end, and the model reads at most ${most}`,
    failed: (reason) => `The model cannot answer: ${reason}.`, reasons: {},
    notesTitle: 'What runs here, and how exactly',
    quality: (bits, difference, sentences) => (bits === 32
      ? `The weights in this file are those of the trained model, in 32 bits.`
      : `The weights in this file have about ${bits} bits each: over ${one(sentences, 'sentence')}, no score (logit) of a next token moves by more than ${difference} through that.`)
      + ' Of an earlier stage this file only tells on which side of the trained weights its own lie, and how far off in the mean; before training they are random numbers, drawn anew. Nothing is fetched and nothing leaves this page.',
    notesChanges: 'A head that is off adds nothing to its layer. A row that is made to look elsewhere puts all of its weight there. An unseen word stays in the sentence, but no head of the encoder or of cross-attention may look at it; a removed one was never there.',
    notesAttention: 'Attention is where a head reads from, not the reason for an output. What changes when you change it comes nearer to a reason, and even that is a lower bound where heads stand in for each other.',
    keysTitle: 'Keys', keys: [['arrows', 'in the map: the chosen cell; among heads, words and tokens: the next one'], ['Enter', 'in the map: this row looks only here'], ['+ \u2212 0', 'in the map: its size'], ['Tab', 'to everything else'], ['Esc', 'choose nothing']],
    theme: { '': 'Auto', light: 'Light', dark: 'Dark' }, themeLabel: (name) => `Colours: ${name}`,
    looking: 'Looking for an example \u2026', stop: (at, of) => `Stop ${at} of ${of}`,
  },
  zh: {
    skip: '跳到注意力图', motto: '网页里就有一个训练好的模型：输一句话，关几个头，看看变化', page: '页面', tour: '导览', other: 'English',
    back: '上一站', next: '下一站', leave: '结束导览',
    source: '输入', examples: '例句', ownText: '自己输入的', output: '输出', again: '重写一遍',
    wordsTitle: '输入中的词：点一下就去掉', wordsLabel: '去掉的词', unseen: '看不见', removed: '删掉',
    leaveOut: (word) => `去掉${q(word)}`, unknown: '模型不认识',
    tabs: '标签和文字之间用 \u21e5（或 \\t）隔开。',
    decoding: '解码方式', greedy: '贪心', beam: (size) => `束宽 ${size}`,
    tokensTitle: '输出的词元：点一个，看看还有哪些候选',
    cut: '到长度上限被截断', nothing: '空',
    unchanged: '改动前', trainedLine: '训练好的', reference: '标准答案',
    right: ' 与答案一致', wrong: ' 与答案不同', same: ' 没有变化',
    speed: (milliseconds) => `${Math.max(1, Math.round(milliseconds))} 毫秒`,
    training: '训练进度', stage: { untrained: '未训练', 'half-trained': '训练到一半', trained: '训练完' },
    stageName: (name, step) => `${name}，第 ${thousands(step)} 步`, steps: (step) => `第 ${thousands(step)} 步`,
    heads: '所有注意力头', headsNote: '点图查看，点圆点开关',
    kind: { encoder: '编码器', decoder: '解码器', cross: '交叉' },
    kindTitle: { encoder: '编码器自注意力', decoder: '解码器自注意力', cross: '交叉注意力' },
    kindNote: { encoder: '输入看输入', decoder: '输出看输出', cross: '输出看输入' },
    head: (layer, head) => `第 ${layer + 1} 层第 ${head + 1} 头`, layer: (layer) => `第 ${layer + 1} 层`,
    whole: (kind, layer) => `${WORDS.zh.kindTitle[kind]}${WORDS.zh.layer(layer)}`,
    full: ({ kind, layer, head }) => `${WORDS.zh.kindTitle[kind]}${WORDS.zh.head(layer, head)}`,
    rowsLabel: '每行标的是', predicts: '要写的词', reads: '刚读的词', readSoFar: '已读的词',
    showsLabel: '图中显示', this: '当前', difference: '变化',
    scaleLabel: '颜色刻度', linear: '0 到 1', sqrt: '开方', row: '按行', largest: '该行最大值',
    plateKeys: '方向键移动所选的格子；按回车，让这一行只看这里。',
    zoom: '图的大小', smaller: '缩小', fit: '适应', larger: '放大', hidden: '看不到',
    reading: '所选的格子',
    at: (label) => `在${q(label)}处`, predicting: (label) => `要写${q(label)}时`, afterReading: (label) => `读到${q(label)}时`,
    goes: (head, when, share, key) => `${head}：${when}，有 ${share} 的注意力落在${q(key)}上。`,
    more: (head, when, share, key) => `${head}：${when}，落在${q(key)}上的注意力比改动前${share}。`,
    signed: (size, isMore) => `${isMore ? '多' : '少'} ${size}`,
    later: (head, when, key) => `${head}：${when}，${q(key)}还没写出来，看不到。`,
    chooseCell: '选一个格子，这里会说明它的意思。',
    look: '让这一行只看这里', lookTitle: '也可以按回车、双击；图不滚动时还可以沿着这一行拖动',
    forcedMark: '被指定看这里', changes: '已做的改动', none: '还没有。一切都和训练好时一样。', reset: '全部撤销', undo: (change) => `撤销：${change}`,
    isOff: (name) => `关掉${name}`, isForced: (name, query, key) => `${name}：${q(query)}只看${q(key)}`,
    isUnseen: (word) => `看不见${q(word)}`, isRemoved: (word) => `删掉${q(word)}`, isStage: (name) => `回到${name}`,
    place: (place) => `第 ${place + 1} 个位置`,
    candidatesTitle: (token) => `${q(token)}这个位置的候选`, chooseToken: '点输出里的一个词元，看看这里还有哪些候选。',
    held: '束搜索留下的结果', ranked: (value, ended) => `对数概率 ${value}${ended ? '' : `，${WORDS.zh.cut}`}`,
    sayOutput: (text) => `输出：${text}`,
    on: '开', off: '关',
    tooLong: (length, most) => `输入连同结束符有 ${length} 个词元，模型最多读 ${most} 个`,
    failed: (reason) => `模型答不了：${reason}。`,
    reasons: {
      'the text holds half a character': '文字里有半个字符', 'the weights in this page are damaged': '页面里的权重已损坏',
      'the weights in this page are cut short': '页面里的权重不完整', 'the weights in this page do not fit their model': '页面里的权重与模型对不上',
    },
    notesTitle: '这里运行的是什么，有多准',
    quality: (bits, difference, sentences) => (bits === 32
      ? '文件里的权重就是训练好的模型的权重，每个 32 位。'
      : `文件里的权重每个约 ${bits} 位。在 ${thousands(sentences)} 个句子上，下一个词元的得分（logit）因此最多相差 ${difference}。`)
      + '至于训练途中的阶段，文件只记下每个权重比训练好的值大还是小，以及平均差多少；训练前的权重是重新抽取的随机数。页面不联网，你输入的内容也不会离开这里。',
    notesChanges: '关掉的头对所在的层不再有任何贡献。被指定只看某处的一行，全部权重都放在那里。看不见的词还在句子里，只是编码器和交叉注意力的头都不能看它；删掉的词则从来没有出现过。',
    notesAttention: '注意力说的是一个头从哪里读，并不是输出的原因。动手改一改，看看结果怎样变化，才更接近原因；不过头与头可以互相顶替，这样看到的影响只会偏小，不会偏大。',
    keysTitle: '按键', keys: [['方向键', '在图中移动所选的格子；在头、词、词元之间移动'], ['回车', '在图中：让这一行只看这里'], ['+ \u2212 0', '在图中：放大、缩小、恢复'], ['Tab', '移到其他控件'], ['Esc', '取消选择']],
    theme: { '': '自动', light: '浅色', dark: '深色' }, themeLabel: (name) => `颜色：${name}`,
    looking: '正在找合适的例子……', stop: (at, of) => `第 ${at} 站，共 ${of} 站`,
  },
};

// [title, text of what stops.js has found], in its order.
const TOUR = {
  en: [
    ['Before and after training', (found) => (found.isAlone
      ? `This file holds the trained model only, so there is no before to show. It answers ${q(found.source)} with ${q(found.after)}.`
      : `Before its first step of training, the model answers ${q(found.source)} with ${q(short(found.before) || '(nothing)')}: its numbers are random. `
        + `Push the slider \u201cTraining\u201d to the right end: after ${one(found.step, 'step')} it writes ${q(found.after)}${found.isRight ? ', which is right' : ''}. `
        + 'Look at the maps on the way. No line of the program changes between the two, only the numbers inside it.')],
    ['Rows read and predict', (found) => `A row of this map is one moment of writing. In the marked one the decoder has just read ${q(found.read)} and is about to write ${q(found.written)}. `
      + `Meanwhile ${WORDS.en.full(found.place)} puts ${found.share} of its attention on ${q(found.key)}. `
      + 'The row can be named for what it predicts or for what it reads: press \u201creads\u201d above the map. The names move by one, the picture stays.'],
    ['A head off', (found) => (found.changed
      ? `We switched off each of ${found.tried} heads in turn. The one that counts most is ${WORDS.en.full(found.place)}: without it, ${one(found.changed, 'output')} of ${found.sentences} came out differently. `
        + `It is off now: what the model writes differently is marked in the output, and what it wrote with the head stands below. Switch it on again by its dot, and try others: none is missed more.`
      : `We switched off each of ${found.tried} heads in turn, and none of ${one(found.sentences, 'output')} changed: here heads stand in for each other. `
        + `${WORDS.en.full(found.place)} is off now, and nobody misses it. Switch off a whole layer (L1, L2, \u2026) and see when the output breaks.`)],
    ['A wrong output', (found) => {
      if (!found.references) return 'No right answers came with the examples of this file, so the page cannot tell which outputs are wrong. Read them yourself: can you find one?';
      if (!found.wrong) return `All ${one(found.references, 'example')} that the page tried come out right. To see the model fail, leave a word out, or type something unlike the examples.`;
      const right = found.right === null ? 'The right answer goes on no further' : `The right one there, ${q(found.right)}, `
        + (found.rightShare === null ? 'is not among the five most probable' : `had ${found.rightShare}`);
      return `${q(found.source)} should become ${q(found.reference)}, but the model writes ${q(found.after)}. `
        + `The first wrong token is ${q(found.written)}, with a probability of ${found.share}. ${right}. The row where it happened is marked: what was it looking at, and was it sure of itself?`;
    }],
    ['Longer than ever', (found) => (found.isLonger
      ? `This source is ${one(found.parts, 'example')} in a row: ${one(found.length, 'token')}, and ${found.isKnown ? 'the longest in training had' : 'the longest example of this file has'} ${found.longest}. `
        + `The model answers with ${one(found.written, 'token')}${found.ended ? ' and stops by itself' : ' and is cut at the length limit'}. `
        + 'Follow the rows from top to bottom: does the pattern hold to the end? Where it breaks, see what was written there.'
      : `The model has positions for ${one(found.most, 'token')} only, so that it cannot be given more than it was made for. Type the longest sentence that it takes.`)],
  ],
  zh: [
    ['训练前和训练后', (found) => (found.isAlone
      ? `这个文件里只有训练好的模型，没有训练前的样子可看。它把${q(found.source)}写成了${q(found.after)}。`
      : `还没有训练时，看到${q(found.source)}，模型写的是${q(short(found.before) || '（空）')}，因为它的参数全是随机数。`
        + `把“训练进度”滑块拖到最右边：训练 ${thousands(found.step)} 步以后，它写出了${q(found.after)}${found.isRight ? '，完全正确' : ''}。`
        + '拖动时留意那些注意力图。前后两个模型，程序一行也没改，变的只是里面的数字。')],
    ['一行：读到什么，要写什么', (found) => `图中的每一行，对应输出过程中的一刻。标出的这一行里，解码器刚读完${q(found.read)}，正要写${q(found.written)}；`
      + `这时${WORDS.zh.full(found.place)}把 ${found.share} 的注意力放在${q(found.key)}上。`
      + '一行既可以用要写的词来标，也可以用刚读的词来标。点图上方的“刚读的词”试试：名称错开一格，图还是那张图。'],
    ['关掉一个头', (found) => (found.changed
      ? `我们把 ${found.tried} 个头轮流关掉，影响最大的是${WORDS.zh.full(found.place)}：少了它，${found.sentences} 句里有 ${found.changed} 句的输出变了。`
        + `现在它是关着的：输出里变了的词已经标出，下面是关掉之前的输出。点它的圆点重新打开，再关掉别的头试试：没有哪个比它更要紧。`
      : `我们把 ${found.tried} 个头轮流关掉，${found.sentences} 句输出一句也没变：在这个模型里，头与头可以互相顶替。`
        + `现在${WORDS.zh.full(found.place)}关着，结果照旧。试试关掉整整一层（L1、L2……），看什么时候会出错。`)],
    ['写错的一句', (found) => {
      if (!found.references) return '这个文件的例句没有附标准答案，网页判断不了哪句写错了。你自己读一读，能找出一句吗？';
      if (!found.wrong) return `试过的 ${found.references} 个例句全都写对了。想看模型出错，可以去掉一个词，或者输入一句和例句很不一样的话。`;
      const right = found.right === null ? '而标准答案到这里已经结束了' : `这里本该是${q(found.right)}，`
        + (found.rightShare === null ? '可它连前五名候选都没进' : `它的概率是 ${found.rightShare}`);
      return `${q(found.source)}本该写成${q(found.reference)}，模型却写成了${q(found.after)}。`
        + `第一个错的词元是${q(found.written)}，概率 ${found.share}；${right}。出错的那一行已经标出来了：它当时在看哪里？有把握吗？`;
    }],
    ['比训练时更长', (found) => (found.isLonger
      ? `这句输入由 ${found.parts} 个例句连成，共 ${found.length} 个词元，而${found.isKnown ? '训练时最长的' : '文件中最长的例句'}只有 ${found.longest} 个。`
        + `模型写了 ${found.written} 个词元，${found.ended ? '然后自己停了下来' : '写到长度上限被截断了'}。`
        + '从上到下一行一行看：图案能保持到最后吗？如果断了，模型在那里写了什么？'
      : `这个模型一共只有 ${found.most} 个位置，没法给它更长的句子。试试它装得下的最长的一句。`)],
  ],
};
