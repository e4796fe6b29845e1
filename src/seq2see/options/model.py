"""The Transformer's shape."""

from dataclasses import dataclass, replace

from seq2see.options.enums import Activation, NormOrder, Position, Score
from seq2see.options.rules import require, require_positive, require_share


@dataclass
class ModelOptions:
    """The Transformer's shape. Sizes that are None are those of `model=tiny`, unless the data ask for more."""

    d_model: int | None = None  # width of the token vectors
    num_heads: int | None = None
    num_kv_heads: int | None = None  # heads of keys and values, shared by neighbours; None: as many as heads
    num_encoder_layers: int | None = None
    num_decoder_layers: int | None = None
    d_ff: int | None = None  # width inside the feed-forward layers
    dropout: float | None = None
    attention_dropout: float = 0.0  # on the attention weights; leaves the fused kernel
    position: Position = Position.rope  # of self attention
    cross_position: Position | None = None  # of cross attention: rope, relative, alibi, none; None: rope with rope
    max_positions: int = 1024  # tokens; the length of a learned table
    randomize_positions: int | None = None  # in training, positions are drawn from this many (Ruoss et al. 2023)
    window: int | None = None  # self attention sees this many tokens to each side; None: all
    score: Score = Score.scaled_dot
    norm: NormOrder = NormOrder.pre
    activation: Activation = Activation.relu
    tie_embeddings: bool = False  # output projection = target embedding (and source embedding, if tokenizer.shared)
    share_layers: bool = False  # one set of layer weights at every depth

    def __post_init__(self) -> None:
        require_positive(self, "model", "d_model", "num_heads", "num_kv_heads", "d_ff", most=65_536)
        require_positive(self, "model", "num_encoder_layers", "num_decoder_layers", most=1_000)
        require_positive(self, "model", "max_positions", "randomize_positions", "window", most=1_048_576)
        require_share(self, "model", "dropout", "attention_dropout")
        self._check_widths()
        self._check_positions()

    def filled(self) -> "ModelOptions":
        """These options with nothing left open: the sizes of `model=tiny` where none are set, and no dropout."""
        missing = {name: value for name, value in TINY.items() if getattr(self, name) is None}
        follows = Position.rope if self.position is Position.rope else Position.none
        return replace(self, **missing, dropout=self.dropout or 0.0, cross_position=self.cross_position or follows)

    def _check_widths(self) -> None:
        d_model, num_heads = self.d_model or TINY["d_model"], self.num_heads or TINY["num_heads"]
        require(
            d_model % num_heads == 0,
            f"model.d_model ({d_model}) must be divisible by model.num_heads ({num_heads})",
        )
        require(
            self.num_kv_heads is None or num_heads % self.num_kv_heads == 0,
            f"model.num_heads ({num_heads}) must be divisible by model.num_kv_heads ({self.num_kv_heads})",
        )
        if Position.rope in (self.position, self.cross_position):
            require(
                d_model // num_heads % 2 == 0,
                f"rope turns pairs of numbers: model.d_model / model.num_heads ({d_model} / {num_heads} = "
                f"{d_model // num_heads}) must be even",
            )
        if self.position == Position.sinusoidal:
            require(d_model % 2 == 0, f"model.position=sinusoidal needs an even model.d_model, not {d_model}")

    def _check_positions(self) -> None:
        cross = self.cross_position or Position.none
        for name in ("position", "cross_position"):
            require(
                not (self.score == Score.additive and getattr(self, name) == Position.rope),
                f"model.score=additive has no dot product for model.{name}=rope to turn: use relative, alibi or none",
            )
        inside = ", ".join(position.value for position in Position if not position.is_embedded)
        require(
            not cross.is_embedded,
            f"model.cross_position={cross.value} has no meaning: it is added to the embeddings, which "
            f"model.position does; use one of {inside}",
        )
        if self.randomize_positions is None:
            return
        require(
            self.position != Position.none or cross != Position.none,
            f"model.randomize_positions ({self.randomize_positions}) has no meaning with model.position=none and "
            "model.cross_position=none, which use no positions",
        )
        require(
            self.position != Position.learned or self.randomize_positions <= self.max_positions,
            f"model.randomize_positions ({self.randomize_positions}) must not exceed model.max_positions "
            f"({self.max_positions}) with model.position=learned",
        )


TINY = {"d_model": 128, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "d_ff": 512}
