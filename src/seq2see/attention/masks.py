"""Who may look at whom: the one mask convention, adapters from the others, and what honours it."""

import torch
from torch import Tensor


def mask_from_ones(mask: Tensor) -> Tensor:
    """From 1 = visible, 0 = hidden (Hugging Face's `attention_mask`).

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    _require_zeros_and_ones(mask)
    return mask.bool()


def mask_from_hidden(mask: Tensor) -> Tensor:
    """From True or 1 = hidden (`key_padding_mask` of `torch.nn.MultiheadAttention`).

    Raises:
        ValueError: a value is neither 0 nor 1.
    """
    _require_zeros_and_ones(mask)
    return ~mask.bool()


def mask_from_additive(mask: Tensor) -> Tensor:
    """From numbers added to the scores: 0 = visible; minus infinity, or a number of at most -1e4, = hidden.

    Raises:
        ValueError: the mask is not of a floating dtype, or a value is neither 0 nor that far below it: then it is a
            bias, which `PositionTerms.bias` carries.
    """
    if not mask.is_floating_point():
        raise ValueError(f"an additive mask is floating, not {mask.dtype}: use mask_from_ones or mask_from_hidden")
    visible = mask == 0
    if not bool((visible | (mask <= -1e4)).all()):
        raise ValueError("an additive mask holds 0 (visible) and -inf or at most -1e4 (hidden), nothing between them")
    return visible


def _require_zeros_and_ones(mask: Tensor) -> None:
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise ValueError("this mask holds only 0 and 1: numbers added to the scores go through mask_from_additive")


def visible_keys(
    mask: Tensor | None, query: Tensor, num_keys: int, *, causal: bool = False, window: int | None = None
) -> Tensor | None:
    """Which keys each query may attend to: the mask, less the future and what lies outside the window.

    The last query stands at the last key.

    Args:
        mask: bool, (B, S), (B, T, S) or the scores' own number of dimensions; B, H and T may be 1 to hold for all;
            None: all visible.
        query: (B, T, K) or (B, H, T, K); gives B, H and T.
        num_keys: S.
        causal: hides the keys after a query's own position.
        window: hides the keys further away than this; None: no limit.

    Returns:
        bool, broadcastable to (B, T, S) or (B, H, T, S); None if everything is visible.

    Raises:
        ValueError: the dtype is not bool, or the shape is none of these.
    """
    num_queries = query.shape[-2]
    if mask is not None:
        mask = _for_each_query(mask, query, num_keys)
    if window is None and (not causal or num_queries == 1):
        return mask
    query_index = torch.arange(num_keys - num_queries, num_keys, device=query.device)[:, None]
    distance = query_index - torch.arange(num_keys, device=query.device)  # (T, S), positive towards the past
    visible = distance >= 0 if causal else torch.ones_like(distance, dtype=torch.bool)
    if window is not None:
        visible = visible & (distance.abs() <= window)
    return visible if mask is None else mask & visible


def _for_each_query(mask: Tensor, query: Tensor, num_keys: int) -> Tensor:
    if mask.dtype != torch.bool:
        raise ValueError(
            f"a mask is boolean, True = may be attended to, not {mask.dtype}: convert with mask_from_ones, "
            "mask_from_hidden or mask_from_additive"
        )
    given, full = tuple(mask.shape), (*query.shape[:-1], num_keys)
    if mask.ndim == 2:
        mask = mask[:, None]  # (B, 1, S)
    if mask.ndim == 3 < len(full):
        mask = mask[:, None]  # (B, 1, T or 1, S)
    fits = mask.ndim == len(full) and mask.shape[-1] == num_keys
    if not fits or any(size not in (1, wanted) for size, wanted in zip(mask.shape, full, strict=True)):
        batch, num_queries = query.shape[0], query.shape[-2]
        raise ValueError(
            f"a mask of the shape {given} does not fit {batch} sequences of {num_queries} queries and {num_keys} keys: "
            f"it must be (B, S) = {(batch, num_keys)} or (B, T, S) = {(batch, num_queries, num_keys)}"
        )
    return mask


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Weights that sum to 1 over the visible keys, and are exactly 0 on hidden ones.

    Half-precision scores are normalised in float32. A row without a visible key is all zero, and so is its gradient:
    the hidden scores are set to a finite number and the weights behind them to zero, so that no NaN can arise.

    Args:
        scores: (..., T, S), floating; minus infinity hides a key as the mask does.
        mask: bool, broadcastable to the scores; None: all visible.

    Returns:
        weights, dtype of the scores (..., T, S).
    """
    dtype = torch.promote_types(scores.dtype, torch.float32)
    hidden = torch.isneginf(scores)
    if mask is not None:
        hidden = hidden | ~mask
    scores_or_lowest = scores.to(dtype).masked_fill(hidden, torch.finfo(dtype).min)
    return torch.softmax(scores_or_lowest, dim=-1).masked_fill(hidden, 0.0).to(scores.dtype)


class Unpadded:
    """Where the real tokens of a padded batch stand, to take them out and to put them back.

    What treats each token alone (linear maps, normalisation, dropout) need not see padding; attention does, for its
    products are of whole sequences.

    Args:
        mask: bool (B, T), True = a real token.
    """

    def __init__(self, mask: Tensor) -> None:
        self.shape = mask.shape
        self.places = mask.flatten().nonzero()[:, 0]  # int64 (N,), in reading order
        self.all_real = len(self.places) == mask.numel()

    def pack(self, x: Tensor) -> Tensor:
        """The real tokens' vectors (N, ...) of a padded batch (B, T, ...)."""
        x = x.flatten(0, 1)
        return x if self.all_real else x.index_select(0, self.places)

    def pad(self, x: Tensor) -> Tensor:
        """The padded batch (B, T, ...) of the real tokens' vectors (N, ...); zeros between them."""
        if not self.all_real:
            x = x.new_zeros(self.shape.numel(), *x.shape[1:]).index_copy_(0, self.places, x)
        return x.unflatten(0, self.shape)
