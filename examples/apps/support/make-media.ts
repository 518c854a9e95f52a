import { crc32, deflateSync } from "node:zlib";

/** The red, green and blue of a pixel, 0 to 255. */
export type Colour = readonly [number, number, number];

/** A real PNG, made without an encoder's help; by default its colours change from corner to corner. */
export function makePng(
  width: number,
  height: number,
  colourAt: (x: number, y: number) => Colour = (x, y) => [
    (255 * x) / width,
    (255 * y) / height,
    (x * y) % 256,
  ],
): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits a channel, three channels.
  header.set([8, 2], 8);
  const row = 1 + 3 * width;
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      pixels.set(colourAt(x, y), y * row + 1 + 3 * x);
    }
  }
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(pixels)), chunk("IEND", Buffer.alloc(0))];
  return Uint8Array.from(Buffer.concat([signature, ...parts]));
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A PDF of one empty page. */
export function makePdf(): Uint8Array {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>",
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 4\n0000000000 65535 f \n${offsets.join("")}`;
  const trailer = `trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return new TextEncoder().encode(text + table + trailer);
}
