"""A JupyterLab, a Notebook 7 and a marimo of their own on a free port, for tests in a real browser."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e_studio import ROOT, free_port, serving

SECONDS = 180.0
"""That a server may take to start on a busy machine."""
QUIET = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


def notebook_of(*cells: str) -> bytes:
    """Return a notebook of code cells."""
    made = [
        {"cell_type": "code", "id": f"c{k}", "metadata": {}, "source": cell, "execution_count": None, "outputs": []}
        for k, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": made}).encode()


@contextmanager
def jupyterlab(home: Path, theme: str = "JupyterLab Light", module: str = "jupyterlab") -> Iterator[str]:
    """Start a JupyterLab, or a "notebook", whose folder is `home`; yield its address; end it and its kernels."""
    port = free_port()
    settings = home / ".settings"
    for name, values in (QUIET | {"@jupyterlab/apputils-extension:themes": {"theme": theme}}).items():
        plugin, _, setting = name.partition(":")
        (settings / plugin).mkdir(parents=True, exist_ok=True)
        (settings / plugin / f"{setting}.jupyterlab-settings").write_text(json.dumps(values))
    command = [sys.executable, "-m", module, "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={home}", f"--LabApp.user_settings_dir={settings}"]
    command += ["--ServerApp.allow_root=True", "--LabApp.news_url=None", "--ServerApp.disable_check_xsrf=True"]
    with _server(command, home, f"http://127.0.0.1:{port}", "/api/status") as url:
        yield url


@contextmanager
def marimo(home: Path, script: Path, theme: str = "dark") -> Iterator[str]:
    """Start a marimo that edits a script; yield its address; end it and its kernel."""
    port, settings = free_port(), home / "config" / "marimo"
    settings.mkdir(parents=True)
    (settings / "marimo.toml").write_text(f'[display]\ntheme = "{theme}"\n')
    command = [sys.executable, "-m", "marimo", "edit", "--headless", "--no-token", "--skip-update-check"]
    command += ["--host=127.0.0.1", f"--port={port}", str(script)]
    with _server(command, home, f"http://127.0.0.1:{port}", "/health") as url:
        yield url


@contextmanager
def _server(command: list[str], home: Path, url: str, health: str) -> Iterator[str]:
    folders = {name: str(home / name.lower()) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    folders |= {"IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(home / "config")}
    for folder in folders.values():
        Path(folder).mkdir(exist_ok=True)
    with serving(command, home, os.environ | folders, health=url + health, log=home / "server.log", seconds=SECONDS):
        yield url
