"""The result files of an answer: pictures and JSON in a folder, or one picture.

A verb makes a `ResultFiles` before its work, so that a file that cannot be written is refused at once. It writes the
files after its work. Without an option that asks for files it writes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.commands.streams import print_note
from forebay.commands.terminal import writing
from forebay.errors import MissingPackageError
from forebay.storage.files import check_file, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ResultFiles"]

#: A function that draws one picture.
Draw = Callable[[], "Figure"]


class ResultFiles:
    """The files that the options ask for.

    Parameters
    ----------
    name : str
        Name of the files in the folder, without an ending.
    out : Path or None
        Folder of the pictures and the JSON (`--out`).
    picture : Path or None
        File of the picture alone (`--picture`).
    others : iterable of str
        Names of further pictures in the folder.
    pictures : bool
        Whether the answer can be drawn.

    Raises
    ------
    InputError
        If one of the files cannot be written.
    MissingPackageError
        If `picture` is given and Matplotlib is not installed.
    """

    def __init__(
        self,
        name: str,
        out: Path | None,
        picture: Path | None,
        *,
        others: Iterable[str] = (),
        pictures: bool = True,
    ) -> None:
        self._name, self._out, self._picture = name, out, picture
        if out is not None:
            for each in (name, *others):
                for ending in (".png", ".svg", ".json"):
                    check_file(out / f"{each}{ending}", "out")
        # The JSON in a folder is useful without the pictures. Without its picture, --picture would leave nothing.
        self._draws = pictures and out is not None and _draws()
        if picture is not None:
            from forebay.extras import need

            need("matplotlib")

    def write(self, draw: Draw, text: Callable[[], str], others: Mapping[str, Draw] | None = None) -> list[Path]:
        """Write the files that the options ask for.

        Parameters
        ----------
        draw : callable
            Function that draws the picture.
        text : callable
            Function that makes the content of the JSON file. It is called only if the file is written.
        others : mapping, optional
            Functions that draw the further pictures, by the names of the pictures.

        Returns
        -------
        list of Path
            The files, in the order in which they were written.
        """
        drawn = draw() if self._draws or self._picture is not None else None
        return [*self._in_folder(drawn, text, others or {}), *self._write_single(drawn)]

    def _in_folder(self, drawn: Figure | None, text: Callable[[], str], others: Mapping[str, Draw]) -> list[Path]:
        """Write pictures and JSON into the folder."""
        if self._out is None:
            return []
        written: list[Path] = []
        with writing(self._out):
            self._out.mkdir(parents=True, exist_ok=True)
            if self._draws and drawn is not None:
                from forebay.views import plots

                written += plots.save_both(drawn, self._out / self._name)
                for name, draw in others.items():
                    written += plots.save_both(draw(), self._out / name)
            path = self._out / f"{self._name}.json"
            write_atomically(path, text() + "\n")
        return [*written, path]

    def _write_single(self, drawn: Figure | None) -> list[Path]:
        """Write the single picture."""
        if self._picture is None or drawn is None:
            return []
        from forebay.views import plots

        with writing(self._picture):
            return [plots.save(drawn, self._picture)]


def _draws() -> bool:
    """Whether pictures can be drawn; if not, print how to install the missing package."""
    from forebay.extras import need

    try:
        need("matplotlib")
    except MissingPackageError as error:
        print_note(f"no picture: {error}")
        return False
    return True
