import type { Segment } from "sessile/context-tokens";
import { unescapeContextTokens } from "sessile/context-tokens";

const opener = "<<context:";
const kinds = ["image", "text", "file"] as const;

/** The grammar, an opener at a time and with no thought of speed. Paths are whole when they begin with a slash or a drive. */
export function naiveParse(source: string): readonly Segment[] {
  const segments: Segment[] = [];
  let text = "";
  const endText = () => {
    if (text !== "") segments.push({ type: "text", raw: text, text: unescapeContextTokens(text) });
    text = "";
  };
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const inner = rest.startsWith(opener) ? rest.slice(opener.length).split(">>>")[0] : undefined;
    const raw = `${opener}${inner}>>>`;
    const [written = "", ...more] = inner?.split(":") ?? [];
    const kind = kinds.find((name) => name === written.trim().toLowerCase());
    const path = more.join(":").trim();
    if (
      inner === undefined ||
      kind === undefined ||
      more.length === 0 ||
      !rest.startsWith(raw) ||
      /\n|\0|<<context:/.test(inner)
    ) {
      text += rest[0];
      at += 1;
      continue;
    }
    endText();
    at += raw.length;
    if (/^(\/|[a-z]:[\\/]|\\\\[^\\/]+[\\/]+[^\\/])/i.test(path))
      segments.push({ type: "token", kind, path, raw });
    else {
      const reason =
        path === ""
          ? "empty"
          : path.startsWith("pending:")
            ? "pending"
            : path.startsWith("failed:")
              ? "failed"
              : "relative";
      segments.push({ type: "broken", kind, reason, path, raw });
    }
  }
  endText();
  return segments;
}
