/**
 * A text to make: a part again and again, and an end.
 *
 * @typedef {object} Text
 * @property {string} part
 * @property {string} end
 * @property {number} characters at least
 */

/**
 * It comes out of bytes, since a repeated string is a tree of its parts until the first search makes one string of it.
 *
 * @param {Text} text
 */
export function textOf({ part, end, characters }) {
  return Buffer.from(part.repeat(Math.ceil(characters / part.length)) + end).toString();
}
