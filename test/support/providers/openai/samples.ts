import { bytesOf, gif, gifFrame, jpeg, png, sof } from "../../media-files.js";

const size = { width: 2, height: 3 };

export const pngBytes = png(size);
export const jpegBytes = jpeg(sof(size));
export const gifBytes = gif(size, [gifFrame(4)]);
export const animatedGif = gif(size, [gifFrame(4), gifFrame(4)]);
export const pdfBytes = bytesOf("%PDF-1.7\n%%EOF\n");

/** A data URL. */
export const url = (mediaType: string, bytes: Uint8Array): string =>
  `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}`;
