// One moment of byte-pair encoding: the parts side by side, and the rank of every pair that may join.
// Text enters by textContent only.

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

export default function ({ data, parentElement }) {
  const row = parentElement.querySelector(".parts");
  row.setAttribute("aria-label", data.name);
  const made = data.parts.flatMap((part, index) => {
    const isNext = data.next >= 0 && (index === data.next || index === data.next + 1);
    const box = element("span", "", ["part", index === data.made && "made", isNext && "next"].filter(Boolean).join(" "));
    box.setAttribute("role", "listitem");
    box.append(element("b", part), element("small", data.ids[index] ?? "no token"));
    if (index === 0) return [box];
    const rank = data.ranks[index - 1];
    const join = element("span", rank ?? "·", index - 1 === data.next ? "join best" : "join");
    join.title = rank === null ? "may not join" : `joins with rank ${rank}`;
    return [join, box];
  });
  row.replaceChildren(...made);
  const shown = row.querySelector(".next, .made");
  if (shown) row.scrollTop = Math.max(0, shown.offsetTop - row.offsetTop - row.clientHeight / 2);
  parentElement.querySelector(".sentence").textContent = data.sentence;
}
