"""Commands in this process."""

from collections.abc import Callable

import pytest

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Called:
    """Return a function from a command's main and arguments to its code, stdout and stderr."""

    def call(main: Callable[[list[str]], int], *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call
