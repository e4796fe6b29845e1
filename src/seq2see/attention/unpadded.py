"""A padded batch without its padding: the vectors of the real tokens alone, one below the other."""

from torch import Tensor


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
