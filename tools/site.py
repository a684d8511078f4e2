"""Pages of `make site` that stand outside docs/: the changelog and the like, and proofs beside the code they prove.

MkDocs calls the functions here by their names (mkdocs.yml, hooks).
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PROOFS = sorted(ROOT.glob("src/**/*.md"))
OUTSIDE = [*(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")), *PROOFS]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the proofs in the menu, where it leaves a place for them."""
    pages = [item for section in config.nav or () for item in next(iter(section.values()))]
    place = next(item["Proofs"] for item in pages if isinstance(item, dict) and "Proofs" in item)
    place.extend(proof.relative_to(ROOT).as_posix() for proof in PROOFS)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in what stands outside, under the path that it has in the repository."""
    for page in OUTSIDE:
        files.append(File.generated(config, page.relative_to(ROOT).as_posix(), abs_src_path=str(page)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links are written for the repository. Across the edge of docs/ they are changed; to code, they become words."""
    docs, here = Path(config.docs_dir), Path(str(page.file.abs_src_path))

    def changed(link: re.Match[str]) -> str:
        text, target, anchor = link.groups()
        goal = (here.parent / target).resolve()
        if not goal.exists() or (goal.is_relative_to(docs) and here.is_relative_to(docs)):
            return link[0]
        uri = goal.relative_to(docs if goal.is_relative_to(docs) else ROOT).as_posix()
        if files.get_file_from_path(uri) is None:
            return text
        return f"[{text}]({posixpath.relpath(uri, posixpath.dirname(page.file.src_uri))}{anchor})"

    return re.sub(r"\[([^\]]*)\]\(([\w./-]+)((?:#[^)\s]*)?)\)", changed, markdown)
