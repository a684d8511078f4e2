"""Pictures on disk."""

from pathlib import Path

from matplotlib.figure import Figure

from discreet.errors import PictureError


def save_picture(figure: Figure, path: str | Path) -> None:
    """Write a figure in the format that the file's ending names."""
    formats = figure.canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in formats:
        raise PictureError(f"{path}: a picture's name ends in one of {', '.join(sorted(formats))}")
    try:
        figure.savefig(path)
    except OSError:
        raise PictureError(f"{path} cannot be written; is the folder there?") from None
