"""Fixture: the browser that pages are looked at in. A module of tests names it in ``pytest_plugins``."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("not run: there is no Chromium, `stack/install.sh browser` installs it")
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=chromium) as browser:
        yield browser
