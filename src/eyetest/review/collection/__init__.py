"""Items to look at: benchmarks, runs, refinements and audits opened as one collection of columns.

In: places. Out: for a query (`eyetest.pages.item_links`) the items it means, their counts and accuracies; for an item
everything that is known of it. Nothing here is written to, but scores that were missing.
"""

from eyetest.review.collection.answers import ModelAccuracy
from eyetest.review.collection.collection import Collection, CollectionView, ItemRow, ItemStory
from eyetest.review.collection.drafts import DraftedCollection
from eyetest.review.collection.judgements import ItemFinding

__all__ = [
    "Collection",
    "CollectionView",
    "DraftedCollection",
    "ItemFinding",
    "ItemRow",
    "ItemStory",
    "ModelAccuracy",
]
