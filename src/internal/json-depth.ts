/** Whether JSON is nested deeper than that, told before it is parsed. What is too short to be is not looked at. */
export function tooDeep(text: string, maxDepth: number): boolean {
  if (text.length <= 2 * maxDepth || !hasMoreOpeners(text, maxDepth)) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) {
      inString = true;
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

/** Whether there are more than `count` brackets that open: searching for them is native, and few texts have that many. */
function hasMoreOpeners(text: string, count: number): boolean {
  let found = 0;
  for (const opener of ["{", "["]) {
    for (let at = text.indexOf(opener); at >= 0; at = text.indexOf(opener, at + 1)) {
      if (++found > count) return true;
    }
  }
  return false;
}
