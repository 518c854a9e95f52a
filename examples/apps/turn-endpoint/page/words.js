import { ConnectionLost, Refused } from "./api.js";

/**
 * Formats a number of bytes.
 *
 * @param {number} bytes
 */
export function sizeInWords(bytes) {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const [value, unit] = bytes < 1 << 20 ? [bytes / 1024, "KB"] : [bytes / (1 << 20), "MB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** @type {Readonly<Record<string, string>>} */
const typeWords = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/gif": "GIF",
  "image/webp": "WebP",
  "application/pdf": "PDF",
  "text/plain": "Text",
  "text/markdown": "Markdown",
  "text/csv": "CSV",
};

/**
 * A readable name of a media type.
 *
 * @param {string} mediaType
 */
export function typeInWords(mediaType) {
  return typeWords[mediaType.split(";")[0] ?? ""] ?? "File";
}

/** @type {Readonly<Record<number, string>>} */
const statusWords = {
  401: "This page's address is of an earlier run. Open the one that the server printed.",
  403: "The server takes requests from its own page only.",
  404: "It is not there any more.",
};

/** @type {Readonly<Record<string, string>>} */
const codeWords = { TURN_RUNNING: "A reply is still being written. Wait for it, or stop it." };

/**
 * The reason for a failure, as a sentence.
 *
 * @param {unknown} error
 */
export function reasonInWords(error) {
  if (error instanceof ConnectionLost) return "The server does not answer.";
  if (error instanceof Refused) {
    return codeWords[error.code] ?? statusWords[error.status] ?? asSentence(error.message);
  }
  return asSentence(error instanceof Error ? error.message : String(error));
}

/** @param {string} text */
export function asSentence(text) {
  const trimmed = text.trim();
  if (trimmed === "") return "The server gives no reason.";
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?…]$/.test(trimmed) ? "" : ".");
}

/**
 * The first words of a text, on one line, without control and direction characters.
 *
 * @param {string} text
 * @param {number} most characters
 */
export function firstWords(text, most) {
  const line = text
    .slice(0, 4 * most)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join("")}…`;
}

/** @type {Readonly<Record<string, string>>} */
const roles = { user: "You", assistant: "Model", toolResult: "Tool" };

/** @param {import("./api.js").EntrySummary} entry */
export function authorOf(entry) {
  return roles[entry.role ?? ""] ?? entry.type.replaceAll("_", " ");
}
