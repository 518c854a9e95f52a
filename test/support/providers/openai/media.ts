import { sniff } from "sessile/media";
import { decodeBase64 } from "../../plain-values.js";

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const dataUrl = /^data:([^;,]*);base64,(.*)$/s;

/** What a data URL holds; undefined where it is none. */
function dataOf(url: string): { readonly type: string; readonly base64: string } | undefined {
  const found = dataUrl.exec(url);
  return found === null ? undefined : { type: found[1] ?? "", base64: found[2] ?? "" };
}

/** What is got instead of an image's URL, as a message ends; undefined where it is one. */
export function notImageUrl(url: string): string | undefined {
  if (/^https?:\/\/\S+$/.test(url)) return undefined;
  if (!url.startsWith("data:")) return "a value without the 'data:' prefix";
  const data = dataOf(url);
  if (data === undefined) return "an invalid data URL";
  return imageTypes.includes(data.type) ? notBase64(data.base64) : `unsupported MIME type '${data.type}'`;
}

/** What is got instead of a file's data URL; undefined where it is one. Any type where none are named. */
export function notFileData(url: string, types?: readonly string[]): string | undefined {
  const data = dataOf(url);
  if (data === undefined) return "an invalid base64-encoded value";
  if (types !== undefined && !types.includes(data.type)) return `unsupported MIME type '${data.type}'`;
  return notBase64(data.base64);
}

function notBase64(base64: string): string | undefined {
  if (base64 === "") return "empty base64-encoded bytes";
  return decodeBase64(base64) === undefined ? "an invalid base64-encoded value" : undefined;
}

/** Whether the bytes of a data URL are a still image of the type that it names. Other URLs are for others to say. */
export function isStillImage(url: string): boolean {
  const data = dataOf(url);
  if (data === undefined) return true;
  const media = sniff(decodeBase64(data.base64) ?? new Uint8Array());
  if (media?.kind !== "image" || media.mediaType !== data.type) return false;
  return !(media.mediaType === "image/gif" && media.animated);
}

/** Whether the bytes of a data URL that names PDF are one, and those of text are UTF-8. */
export function isNamedFile(url: string): boolean {
  const data = dataOf(url);
  const kind = sniff(decodeBase64(data?.base64 ?? "") ?? new Uint8Array())?.kind;
  if (data?.type === "application/pdf") return kind === "pdf";
  return data?.type.startsWith("text/") === true ? kind === "text" : true;
}
