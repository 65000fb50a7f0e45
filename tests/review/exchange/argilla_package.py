"""What the package `argilla` makes of a folder, in an environment of its own: read, answered by two people, written.

There is no server: a stand-in for its HTTP interface keeps what the package sends and gives it back.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

import argilla as rg
import httpx

STAMP = {"inserted_at": "2026-03-01T10:00:00", "updated_at": "2026-03-01T10:00:00"}
WORKSPACE = {"id": str(uuid4()), "name": "default", **STAMP}
OWNER = {"id": str(uuid4()), "username": "owner", "role": "owner", "first_name": "", "last_name": "", **STAMP}
kept: dict[str, Any] = {"/me": OWNER, "/me/workspaces": [WORKSPACE], f"/workspaces/{WORKSPACE['id']}": WORKSPACE}


def answer(request: httpx.Request) -> httpx.Response:
    """What a server would answer that keeps what it is sent."""
    path = request.url.path.removeprefix("/api/v1")
    body = json.loads(request.content) if request.content else {}
    if path.endswith("/records/bulk"):
        records = [{**record, **STAMP, "id": record.get("id") or str(uuid4())} for record in body["items"]]
        known = {record["id"]: record for record in kept.get(path.removesuffix("/bulk"), [])}
        kept[path.removesuffix("/bulk")] = list((known | {record["id"]: record for record in records}).values())
        return httpx.Response(200, json={"items": records, "updated_item_ids": []})
    if request.method == "POST":
        made = {**STAMP, **body, "id": str(uuid4())}
        kept.setdefault(path, []).append(made)
        kept[f"{path}/{made['id']}"] = made
        return httpx.Response(201, json=made)
    told = kept.get(path.removesuffix("/publish").replace("/me/datasets/", "/datasets/"), [])
    page = told if int(request.url.params.get("offset", 0)) == 0 else []
    return httpx.Response(200, json={"items": page, "total": len(told)} if isinstance(told, list) else told)


def main(source: Path, target: Path, responses: Path) -> None:
    """Read a folder, add responses (record, question, value, user), write it, and say what it was."""
    warnings.simplefilter("ignore")
    httpx.HTTPTransport = lambda *_, **__: httpx.MockTransport(answer)  # type: ignore[assignment,misc,unused-ignore]
    client = rg.Argilla(api_url="http://nowhere", api_key="none")
    rg.Argilla._default_client = client
    dataset = rg.Dataset.from_disk(str(source), client=client)
    dataset.settings.validate()
    records = list(dataset.records(with_suggestions=True, with_responses=True))
    for number, question, value, user in json.loads(responses.read_text()):
        records[number].responses.add(rg.Response(question, value, user_id=user, status="submitted"))
    dataset.records.log(records)
    target.mkdir()
    dataset.to_disk(str(target))
    asked = {question.name: type(question).__name__ for question in dataset.settings.questions}
    shown = [field.name for field in dataset.settings.fields]
    print(json.dumps({"asked": asked, "shown": shown, "records": len(records), "version": rg.__version__}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
