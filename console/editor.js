// The editor of questions: CodeMirror over the plain field of the form, which stays what is sent.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import words from "./words.json";

const dialect = SQLDialect.define({
  keywords: words.keywords.join(" ").toLowerCase(),
  builtin: words.functions.join(" ").toLowerCase(),
  types: "boolean date integer text",
  doubleQuotedStrings: false,
  identifierQuotes: '"',
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.standard(tags.name), tags.typeName], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--note)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--note)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--soft)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--ink)", border: "1px solid var(--edge)", borderRadius: ".7rem", direction: "ltr" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace', fontSize: ".95rem", lineHeight: "1.6", minHeight: "9.5rem" },
  ".cm-content": { padding: ".55rem .4rem", caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--bar)" },
  ".cm-matchingBracket": { backgroundColor: "var(--tint)", outline: "1px solid var(--edge)" },
  ".cm-wrong": { textDecoration: "underline wavy var(--wrong) 2px", textUnderlineOffset: "4px" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: ".5rem", overflow: "hidden" },
  ".cm-tooltip-autocomplete ul li": { padding: ".15rem .6rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

const setMark = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(held, change) {
    for (const effect of change.effects) if (effect.is(setMark)) return effect.value;
    return change.docChanged ? Decoration.none : held;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// The clerk counts characters of Unicode, the editor counts UTF-16.
const place = (text, characters) => Array.from(text).slice(0, characters).join("").length;

window.tacitEditor = (field, { words: tables, nonce, changed }) => {
  const view = new EditorView({
    doc: field.value,
    extensions: [
      EditorView.cspNonce.of(nonce),
      EditorState.lineSeparator.of("\n"),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": field.labels[0].textContent, "aria-describedby": "price-line", spellcheck: "false" }),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ icons: false }),
      sql({ dialect, schema: tables, upperCaseKeywords: true }),
      syntaxHighlighting(colours),
      look,
      marks,
      keymap.of([{ key: "Mod-Enter", run: () => true }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        field.value = view.state.doc.toString();
        changed();
      }),
    ],
  });
  field.before(view.dom);
  field.hidden = true;
  return {
    insert(text) {
      view.dispatch(view.state.replaceSelection(text));
      view.focus();
    },
    write(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    mark(range) {
      const text = view.state.doc.toString();
      const [from, to] = range ? range.map((each) => place(text, each)) : [0, 0];
      const wrong = Decoration.mark({ class: "cm-wrong" });
      view.dispatch({ effects: setMark.of(from < to && to <= text.length ? Decoration.set([wrong.range(from, to)]) : Decoration.none) });
    },
  };
};
