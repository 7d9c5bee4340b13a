"""The directive `picture`: lines of a shell, run when the site is built, below the pictures they draw."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Picture(SphinxDirective):
    """Pictures, named in the first line, and the lines that make them."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Run the lines in an empty folder, keep the pictures, and show both."""
        lines = "\n".join(self.content)
        kept = Path(self.env.srcdir) / "generated" / "pictures"
        kept.mkdir(parents=True, exist_ok=True)
        names = [Path(name) for name in self.arguments[0].split()]
        pictures = [f"{sha256(lines.encode()).hexdigest()[:8]}_{name.name}" for name in names]
        with TemporaryDirectory() as folder:
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
            environment = {**os.environ, "PATH": path, "ARTIST_CACHE": folder}
            command = ["bash", "-euo", "pipefail", "-c", lines]
            process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            if process.returncode:
                raise self.error(f"{lines}\nfailed:\n{process.stderr}{process.stdout}")
            for name, picture in zip(names, pictures, strict=True):
                shutil.copy(Path(folder) / name, kept / picture)
        images = [
            nodes.paragraph(
                "", "", nodes.image(uri=f"/generated/pictures/{picture}", alt=name.stem.replace("_", " "))
            )
            for name, picture in zip(names, pictures, strict=True)
        ]
        return [*images, nodes.literal_block(lines, lines, language="bash")]
