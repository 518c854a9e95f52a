/** Marks the words of a search in a row, without changes to the document. */

const name = "find";
const maxRanges = 500;

/** Marks all matches in an element, and shows the first. Browsers without highlights only show the row. */
export function highlightMatches(element: Element | null, pattern: RegExp | undefined): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete(name);
  if (element === null || pattern === undefined) return;
  const ranges = matchRanges(element, new RegExp(pattern.source, `${pattern.flags}g`));
  if (ranges.length === 0) return;
  CSS.highlights.set(name, new Highlight(...ranges));
  ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
}

/** Matches may span elements, such as the parts of highlighted code. */
function matchRanges(element: Element, pattern: RegExp): readonly Range[] {
  const nodes: { readonly node: Text; readonly start: number }[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let text = "";
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node: node as Text, start: text.length });
    text += (node as Text).data;
  }
  const ranges: Range[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (ranges.length >= maxRanges) break;
    const range = document.createRange();
    const end = match.index + match[0].length;
    while ((nodes[at + 1]?.start ?? Number.POSITIVE_INFINITY) <= match.index) at++;
    let last = at;
    while ((nodes[last + 1]?.start ?? Number.POSITIVE_INFINITY) < end) last++;
    const [from, to] = [nodes[at], nodes[last]];
    if (from === undefined || to === undefined) break;
    range.setStart(from.node, match.index - from.start);
    range.setEnd(to.node, end - to.start);
    ranges.push(range);
  }
  return ranges;
}
