"""Which families of tokenizers and chat templates are rendering and counting tried on?

Small vocabularies, trained here, in the five layouts that open-weight models use, with the markers that those models
use: what is tested is how a text is read, not how good a vocabulary is. The templates are our own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tokenizers
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_DEEPSEEK_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK_WORDS)
_TEXTS = (
    "The upload limit of the portal is twenty five megabytes for each file, unless the policy says otherwise.",
    "A latch that does not close must be inspected before the door is used again; see bulletin 7 of 2025-03-01.",
    '{"conflict_group":null,"handle":"EV-0123456789ABCDEF","heading":["Limits"],"namespace":"blue","text":"It\'s 5."}',
    '{\\"slot\\":\\"retrieved-evidence\\",\\"trust\\":\\"untrusted-retrieved-data\\",\\"title\\":\\"\\\\u003c\\"}',
    "Les résultats sont ici. Größe und Maß. Это предел. 上传限制是二十五兆字节。アップロードの上限。",
    "you are to answer from the evidence, and to cite the handles that allow each claim.\n\nsystem user assistant\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A layout of tokenizer with its markers. `controls`: the added tokens that must never come from content."""

    name: str
    controls: tuple[str, ...]
    template: str
    begins: str | None
    layout: tuple[str, ...] = ()  # added tokens that are white space only
    pieces: bool = False  # SentencePiece's layout, else byte-level


CHATML = Family(
    name="chatml",
    controls=("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"),
    template="{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    begins=None,
)
LLAMA = Family(
    name="llama-3",
    controls=("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    template="{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{% if m.role == 'system' %}Today Date: {{ strftime_now('%d %b %Y') }}\n\n{% endif %}"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    begins="<|begin_of_text|>",
)
MISTRAL = Family(
    name="mistral",
    controls=("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    template="{% set ns = namespace(system='') %}{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}"
    "{% set ns.system = m.content + '\n\n' %}{% else %}[INST] {{ ns.system }}{{ m.content }}[/INST]"
    "{% set ns.system = '' %}{% endif %}{% endfor %}",
    begins="<s>",
    pieces=True,
)
GEMMA = Family(
    name="gemma",
    controls=("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<table>", "[multimodal]"),
    layout=("\n\n", "\n\n\n", "▁▁", "▁▁▁"),
    template="{{ bos_token }}{% set first = messages[0].content + '\n\n' if messages[0].role == 'system' else '' %}"
    "{% for m in messages if m.role != 'system' %}<start_of_turn>{{ m.role }}\n"
    "{% if loop.first %}{{ first }}{% endif %}{{ m.content }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    begins="<bos>",
    pieces=True,
)
DEEP = Family(
    name="deepseek",
    controls=(
        "<｜begin▁of▁sentence｜>",
        "<｜end▁of▁sentence｜>",
        "<｜User｜>",
        "<｜Assistant｜>",
        "<｜tool▁calls▁begin｜>",
        "<think>",
        "</think>",
    ),
    template="{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% else %}"
    "<｜User｜>{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<｜Assistant｜></think>{% endif %}",
    begins="<｜begin▁of▁sentence｜>",
)
FAMILIES = (CHATML, LLAMA, MISTRAL, GEMMA, DEEP)


def save_family(family: Family, folder: Path) -> Path:
    """Its files in `folder`, which is given back; the template in its own file or in the configuration, by turns."""
    config: dict[str, object] = {"truncation_side": "left" if family.pieces else "right"}
    if family.begins is not None:
        config["bos_token"] = family.begins
    if family.pieces:
        config["chat_template"] = family.template
    else:
        (folder / "chat_template.jinja").write_text(family.template)
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(tokenizer_file(family))
    return folder


@cache
def tokenizer_file(family: Family) -> str:
    """The text of its `tokenizer.json`."""
    tokenizer = _pieces(family) if family.pieces else _byte_level(family)
    layout = [tokenizers.AddedToken(token, normalized=False) for token in family.layout]
    plain = [token for token in family.controls if token.strip("</>") in ("think", "tool_call", "table")]
    tokenizer.add_special_tokens([token for token in family.controls if token not in plain])
    tokenizer.add_tokens([tokenizers.AddedToken(token, normalized=False) for token in plain] + layout)
    tokenizer.enable_truncation(64)  # a file's own truncation and padding, which counters switch off
    tokenizer.enable_padding(length=64)
    return str(tokenizer.to_str())


def changed(family: Family, **parts: object) -> str:
    """Its `tokenizer.json` with some top-level parts replaced."""
    record: Mapping[str, object] = json.loads(tokenizer_file(family))
    return json.dumps({**record, **parts})


def _byte_level(family: Family) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE(ignore_merges=family is LLAMA))
    patterns = {CHATML.name: (QWEN,), LLAMA.name: (LLAMA3,), DEEP.name: DEEPSEEK}[family.name]
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    if family is CHATML:
        tokenizer.normalizer = normalizers.NFC()
    _train(tokenizer, alphabet=pre_tokenizers.ByteLevel.alphabet())
    return tokenizer


def _pieces(family: Family) -> tokenizers.Tokenizer:
    """Trained on words, as SentencePiece is, then used over whole texts without any split."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="never"),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.Digits(individual_digits=True),
        ]
    )
    _train(trained, alphabet=[chr(point) for point in range(0x20, 0x7F)])
    record = json.loads(trained.to_str())
    vocabulary = record["model"]["vocab"]
    for token in ("<unk>", *(f"<0x{byte:02X}>" for byte in range(256))):
        vocabulary[token] = len(vocabulary)
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    record["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    if family is MISTRAL:
        record["pre_tokenizer"] = None
        record["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, space]}
    else:
        record["normalizer"] = space
        record["pre_tokenizer"] = {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        }
    return tokenizers.Tokenizer.from_str(json.dumps(record))


def _train(tokenizer: tokenizers.Tokenizer, *, alphabet: Sequence[str]) -> None:
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=list(alphabet), show_progress=False)
    tokenizer.train_from_iterator(_TEXTS * 20, trainer)
