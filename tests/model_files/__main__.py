"""Write the golden files of the present format, and what they answer."""

import json

from hetcore.archive import FORMAT
from hetcore.model_files import save
from tests.model_files import FOLDER, NAMES, answers, fitted, machine

folder = FOLDER / f"format_{FORMAT}"
folder.mkdir(exist_ok=True)
predicted = {"machine": machine()}
for name in NAMES:
    save(fitted(name), folder / f"{name}.hetcore")
    predicted[name] = [value.hex() for value in answers(name, fitted(name)).ravel().tolist()]
(folder / "answers.json").write_text(json.dumps(predicted, indent=0) + "\n", encoding="utf-8")
