"""Items as people are to see them while a recipe waits: with the options and pictures that it has made so far."""

from collections.abc import Iterator, Sequence

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.records import ImageRef, Item, letter
from eyetest.review.collection.collection import Collection, CollectionView, ItemRow, ItemStory
from eyetest.review.collection.sources import CollectionSources, Tell


class DraftedCollection(Collection):
    """A collection some of whose items have drafts, which are shown in their place, the latest of them."""

    def __init__(
        self, sources: CollectionSources, drafts: Sequence[Benchmark], tell: Tell = lambda line: None
    ) -> None:
        super().__init__(sources, tell)
        self._drafts: dict[str, Item] = {}
        self._homes: dict[str, Benchmark] = {}
        self._drawn: dict[str, tuple[ImageRef, Benchmark]] = {}
        for benchmark in drafts:
            for item in benchmark:
                self._drafts[item.id], self._homes[item.id] = item, benchmark
                self._drawn |= {image.sha256: (image, benchmark) for image in item.images}

    def records(self, ids: Sequence[str]) -> dict[str, Item]:
        """The items themselves, as people see them now."""
        return super().records(ids) | {id_: self._drafts[id_] for id_ in ids if id_ in self._drafts}

    def home(self, row: ItemRow) -> Benchmark:
        """The benchmark in which an item's pictures lie: that of its draft."""
        return self._homes.get(row.id) or super().home(row)

    def rows(self, view: CollectionView, start: int = 0, count: int = 60) -> list[ItemRow]:
        """Some of the items of a view, in its order."""
        return [self._redrawn(row) for row in super().rows(view, start, count)]

    def stories(self, ids: Sequence[str], *, replies: bool = True) -> Iterator[ItemStory]:
        """The whole stories of many items; what models said of other options is none of a draft's story."""
        for story in super().stories(ids, replies=replies):
            draft = self._drafts.get(story.id)
            if draft is None:
                yield story
                continue
            same = story.item is not None and story.item.choices == draft.choices
            yield story._replace(item=draft, row=self._redrawn(story.row), cases=story.cases if same else [])

    def picture(self, sha256: str) -> tuple[ImageRef, bytes] | None:
        """A picture of some item by its hash, drafts included."""
        if sha256 not in self._drawn:
            return super().picture(sha256)
        image, benchmark = self._drawn[sha256]
        return image, benchmark.images.read(image)

    def _redrawn(self, row: ItemRow) -> ItemRow:
        draft = self._drafts.get(row.id)
        if draft is None:
            return row
        return msgspec.structs.replace(
            row,
            question=draft.question,
            gold=", ".join(letter(at) for at in draft.gold) or row.gold,
            picture=draft.images[0].sha256 if draft.images else None,
            pictures=len(draft.images),
        )
