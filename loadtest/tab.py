"""The run in Locust's own web page: a tab with the table of steps, and the report at ``/report``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from flask import Response, redirect, request, send_from_directory
from summary import MEASURES, PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from locust.web import WebUI

_KEY = "servers"
_COLUMNS = {
    "name": "Server and load",
    "requests": "Requests",
    "failures": "Failures",
    **{
        f"{measure}_p{percent}": f"{measure.upper()} p{percent} (ms)" for measure in MEASURES for percent in PERCENTILES
    },
    "output_tokens_per_s": "Output tokens/s",
    "output_tokens_per_s_per_user": "Output tokens/s per user",
    "prompt_tokens_per_s": "Prompt tokens/s",
}


class Tab:
    """The steps of the run, or of the last one, shown beside Locust's statistics."""

    def __init__(self, web_ui: WebUI, folder: Path) -> None:
        """``folder`` is where the report is written."""
        self._rows: list[dict[str, Any]] = []
        structure = [{"key": key, "title": title} for key, title in _COLUMNS.items()]
        web_ui.template_args["extended_tabs"] = [{"title": "Frontend and reference", "key": _KEY}]
        web_ui.template_args["extended_csv_files"] = [{"href": "/report", "title": "Report of the last run"}]
        web_ui.template_args["extended_tables"] = [{"key": _KEY, "structure": structure}]
        assert web_ui.app is not None  # before Locust starts, it always is there
        web_ui.app.after_request(self._add_rows)
        web_ui.app.add_url_rule("/report", "report", lambda: redirect("/report/report.html"))
        web_ui.app.add_url_rule(
            "/report/<path:name>", "file of the report", lambda name: send_from_directory(folder.absolute(), name)
        )

    def show(self, steps: Iterable[dict[str, Any]]) -> None:
        """Shows steps, as ``run.json`` has them."""
        self._rows = [_row(step) for step in steps]

    def _add_rows(self, response: Response) -> Response:
        """Puts the rows into the statistics that the web page polls."""
        if request.path == "/stats/requests" and response.is_json:
            stats = orjson.loads(response.get_data())
            response.set_data(orjson.dumps({**stats, "extended_stats": [{"key": _KEY, "data": self._rows}]}))
        return response


def _row(step: dict[str, Any]) -> dict[str, Any]:
    """The cells of one step; a knee is marked in its name."""
    name = f"{step['step'] + 1}. {step['server']}, {step['load']:g} {step['unit']}{', knee' if step['knee'] else ''}"
    values = {key: round(step[key], 1) if isinstance(step[key], float) else step[key] for key in list(_COLUMNS)[1:]}
    return {"name": name, "safeName": name, **values}
