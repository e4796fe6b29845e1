"""A trained model in a folder for other tools."""

import importlib.util
import shutil
from pathlib import Path

from seq2see.decoding import TranslationModel, load, write_description, write_weights
from seq2see.options import ExportFormat, ExportOptions

__all__ = ["export"]

NEEDED = ("onnx", "onnxscript", "onnxruntime")  # for ONNX


def export(options: ExportOptions) -> Path:
    """What `scripts/export.py` does: writes the folder `output`.

    Returns:
        the folder.

    Raises:
        ValueError: there is no model, no package for it, or the folder is not to be had.
    """
    if options.ckpt is None or options.output is None:
        raise ValueError("ckpt or output is missing: name both, as in ckpt=outputs/translation/RUN output=exported")
    if options.format is ExportFormat.onnx and any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise ValueError("format=onnx: its packages are not installed: pip install 'seq2see[onnx]'")
    trained, folder = load(options.ckpt, average=options.average), Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ValueError(f"output: {folder} is not empty: name a new folder")
        tokenizers = trained.source_tokenizer, trained.target_tokenizer
        write_description(folder, trained.describe() | {"global_step": trained.step}, tokenizers)
        if options.format is ExportFormat.safetensors:
            write_weights(folder, trained.model.state_dict())
        else:
            _write_graphs(folder, trained, int8=options.int8)
    except OSError as error:
        raise ValueError(f"output: {folder} cannot be written ({error.strerror})") from error
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.2f} MB  {file}")
    return folder


def _write_graphs(folder: Path, trained: TranslationModel, *, int8: bool) -> None:
    from seq2see.commands.export.graphs import write_graphs  # torch's compiler

    write_graphs(folder, trained.model, int8=int8)
    shutil.copyfile(Path(__file__).with_name("translate.py"), folder / "translate.py")
