// Looks for the words of ?q= in the pieces of index.js, as search.go does where a server answers.
"use strict";
(function () {
  const query = new URLSearchParams(location.search).get("q") || "";
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return;
  const isWord = (c) => /[\p{L}\p{N}_]/u.test(c) || c > "\x7f";
  const begins = (text, word) => {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      if (at === 0 || !isWord(text[at - 1])) return true;
    }
    return false;
  };
  const score = (piece) => {
    const title = piece.title.toLowerCase(), text = piece.text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      if (title === word) sum += 40;
      else if (begins(title, word)) sum += 15;
      else if (title.includes(word)) sum += 8;
      else if (begins(text, word)) sum += 3;
      else if (text.includes(word)) sum += 1;
      else return 0;
    }
    return sum;
  };
  const around = (piece) => {
    const text = piece.text.split(/\s+/).join(" ").trim(), lower = text.toLowerCase();
    const at = Math.max(0, ...words.map((word) => lower.indexOf(word)).filter((i) => i >= 0).slice(0, 1));
    const from = text.lastIndexOf(" ", at - 60) + 1, end = text.indexOf(" ", at + 120);
    const to = end < 0 ? text.length : end;
    return (from > 0 ? "… " : "") + text.slice(from, to).trim() + (to < text.length ? " …" : "");
  };
  const found = pieces.map((piece) => [score(piece), piece]).filter(([n]) => n > 0)
    .sort(([n, a], [m, b]) => m - n || a.size - b.size).slice(0, 50);
  const list = document.getElementById("found");
  const made = (name, text, parent) => {
    const element = document.createElement(name);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  list.replaceChildren();
  document.querySelector("h1").textContent = query;
  document.querySelector("input[name=q]").value = query;
  if (!found.length) made("p", "No page has all of these words.", list);
  for (const [, piece] of found) {
    const line = made("p", "", list);
    line.className = "found";
    made("a", piece.title, line).href = piece.path;
    line.append(" ");
    made("span", piece.page, line);
    made("br", "", line);
    line.append(around(piece));
  }
})();
