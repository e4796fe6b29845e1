"""A model whose numbers come from ONNX graphs, for this project's own decoding."""

from pathlib import Path

import onnxruntime
import torch
from torch import Tensor, nn

from seq2see.transformer import DecoderCache, Transformer


class OnnxModel(nn.Module):
    """What decoding takes of a `Transformer`: a memory is the keys and values that the encoder's graph gives."""

    def __init__(self, folder: Path, model: Transformer) -> None:
        super().__init__()
        self.model = model  # its weights are not looked at
        self.encoder_positions, self.decoder_positions = model.encoder_positions, model.decoder_positions
        self.encoder, self.step = (
            onnxruntime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder")
        )

    def new_cache(self) -> DecoderCache:
        return self.model.new_cache()

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        cross = self.encoder.run(None, {"src": src.numpy(), "src_mask": src_mask.numpy()})
        memory = torch.stack([torch.from_numpy(array) for array in cross], dim=2)  # (B, heads, 2 a layer, S, K)
        self.sizes = memory.shape[1], memory.shape[2]
        return memory.permute(0, 3, 1, 2, 4).flatten(2)  # (B, S, all)

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: DecoderCache) -> Tensor:
        if cache.length == 0:
            cross = memory.unflatten(2, (*self.sizes, -1)).permute(0, 2, 3, 1, 4)  # (B, heads, 2 a layer, S, K)
            for depth, (of_target, of_source) in enumerate(cache.layers):
                of_source.key, of_source.value = cross[:, :, 2 * depth], cross[:, :, 2 * depth + 1]
                of_target.key = of_target.value = of_source.key[:, :, :0]
        state = [tensor for own in zip(*cache.layers, strict=True) for of in own for tensor in (of.key, of.value)]
        half = len(state) // 2
        tensors = [tgt_in, src_mask, *state[half:], *state[:half]]  # of the target first in the cache, last here
        names = [one.name for one in self.step.get_inputs()]
        logits, *past = self.step.run(None, {name: t.numpy() for name, t in zip(names, tensors, strict=True)})
        for depth, (of_target, _) in enumerate(cache.layers):
            of_target.key, of_target.value = (torch.from_numpy(array) for array in past[2 * depth : 2 * depth + 2])
        cache.length += 1
        return torch.from_numpy(logits)[:, None]
