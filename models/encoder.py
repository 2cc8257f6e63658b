"""Which vector does a text get, for search and for comparing token by token?

A text's code is the one it gets alone, padded to its bucket, on the recipe's runtime (R10): neither neighbours nor
order change it. Documents must fit the window; a query is cut at it, and `truncated` says so (R14).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.batching import ONE_BY_ONE
from models.errors import InvalidOutput, TextTooLong
from models.folder import ModelFolder
from models.forward import RowRunner
from models.quantize import quantize
from models.registry import EncoderEntry
from models.runtime import TOKENS, VECTORS, Runtime
from models.tokenizer import Tokenizer, TokenRow, Windows


class Encoder:
    """An encoder on one runtime. Safe to call from several threads."""

    def __init__(
        self, entry: EncoderEntry, folder: ModelFolder, runtime: Runtime, *, batch_sizes: Sequence[int] = ONE_BY_ONE
    ) -> None:
        """`batch_sizes`: those that `runtime` qualified for, 1 among them."""
        self.entry = entry
        self.model_digest = folder.digest
        self.counter = Tokenizer(folder.tokenizer_file)
        self.batch_sizes = tuple(batch_sizes)
        self._runner = RowRunner(runtime=runtime, pad_id=folder.pad_id, window=entry.window)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def runtime(self) -> str:
        """The name of the runtime, as the recipe states it."""
        return self._runner.runtime.name

    @property
    def dimension(self) -> int:
        return self.entry.dimension

    @property
    def window(self) -> int:
        """Tokens of a row at most, special ones and prompt included."""
        return self.entry.window

    @property
    def document_window(self) -> int:
        """What the document prompt leaves of the window; special tokens still count in it."""
        return self.entry.window - self.counter.count(self.entry.document_prompt)

    def truncated(self, query: str) -> tuple[int, int]:
        """(seen, total): how many tokens of a query, with prompt and special ones, the encoder reads."""
        total = len(self.counter.row(self.entry.query_prompt + query).ids)
        return min(total, self.window), total

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """The codes of texts, document prompt in front: (n, d) int8, in the order given.

        Raises TextTooLong when one does not fit the window, InvalidOutput when a vector cannot be ranked.
        """
        return quantize(self.document_vectors(texts), scale=self.entry.scale)

    def encode_query(self, text: str) -> NDArray[np.int8]:
        """The code of a query, query prompt in front, cut at the window: (d,) int8. Raises InvalidOutput."""
        codes: NDArray[np.int8] = self.encode_queries([text])[0]
        return codes

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.int8]:
        """As `encode_query` of each, in one go where the runtime gives the same bits so: (n, d) int8."""
        return quantize(self.queries_alone(texts), scale=self.entry.scale)

    def document_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors behind `encode_documents`: (n, d) float32."""
        return self.row_vectors(self._document_rows(texts), batch_sizes=self.batch_sizes)

    def query_vector(self, text: str) -> NDArray[np.float32]:
        """The vector behind `encode_query`: (d,) float32."""
        vector: NDArray[np.float32] = self.queries_alone([text])[0]
        return vector

    def queries_alone(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of queries, to the bit those that each gets alone: (n, d) float32."""
        return self.row_vectors([self.query_row(text) for text in texts], batch_sizes=ONE_BY_ONE)

    def documents_alone(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of documents, to the bit those that each gets alone: (n, d) float32. Raises TextTooLong."""
        return self.row_vectors(self._document_rows(texts), batch_sizes=ONE_BY_ONE)

    def encode_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The token vectors of texts, document prompt in front; shapes and errors as `token_vectors`.

        Raises TextTooLong when a text does not fit the window.
        """
        return self.token_vectors(self._document_rows(texts))

    def query_row(self, text: str) -> TokenRow:
        """The tokens the encoder reads of a query."""
        return self.counter.windows(self.entry.query_prompt + text, window=self.window, most=1).rows[0]

    def document_windows(self, text: str, *, most: int) -> Windows:
        """The tokens of a text of any length in windows, document prompt in front of the first."""
        return self.counter.windows(self.entry.document_prompt + text, window=self.window, most=most)

    def row_vectors(self, rows: Sequence[TokenRow], *, batch_sizes: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of token rows that fit the window, in batches of these sizes: (n, d) float32."""
        vectors = self._runner.run(rows, output=VECTORS, batch_sizes=batch_sizes)
        return np.stack(vectors) if vectors else np.empty((0, self.dimension), np.float32)

    def token_vectors(self, rows: Sequence[TokenRow]) -> list[NDArray[np.float32]]:
        """One (tokens, d) float32 array for each token row that fits the window, its rows of length 1.

        Each row is encoded alone. Special tokens are kept, padding is not. Raises InvalidOutput.
        """
        outputs = self._runner.run(rows, output=TOKENS, batch_sizes=ONE_BY_ONE)
        return [
            _of_length_one(output[: len(row.ids)], position)
            for position, (row, output) in enumerate(zip(rows, outputs, strict=True))
        ]

    def _document_rows(self, texts: Sequence[str]) -> list[TokenRow]:
        rows = [self.counter.row(self.entry.document_prompt + text) for text in texts]
        for position, row in enumerate(rows):
            if len(row.ids) > self.window:
                raise TextTooLong(position=position, tokens=len(row.ids), window=self.window)
        return rows


def _of_length_one(vectors: NDArray[np.float32], position: int) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InvalidOutput(position=position, problem="a token vector is not finite or of length zero")
    divided: NDArray[np.float32] = vectors / lengths
    return divided
