/** What other modules of the library use beside the entry point. */

export { needsPassword } from "./pdf-password.js";
export type { PdfMedia } from "./types.js";
