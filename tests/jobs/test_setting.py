"""A setting of a page is the same one when it comes back from the run store."""

from __future__ import annotations

import json

from studio.jobs.job import Setting


def test_a_setting_that_was_stored_is_the_same_setting():
    edges = {"op": "edges", "name": "links", "add": [("a", "b")], "cut": []}
    drawn = Setting("MGBRegressor", {"features": ("rf1", "rf2")}, [edges], {"graph": ("links",)}, {"form": "domains"})
    stored = json.loads(json.dumps(drawn.stored({})))
    same = Setting(drawn.estimator, *(stored[name] for name in ("params", "operations", "fit", "form")))
    assert same == drawn and same != Setting(drawn.estimator, drawn.params, [], drawn.fit, drawn.form)
