import fc from "fast-check";
import type { ImageMedia, ImageMediaType } from "sessile/media";
import {
  acTL,
  bytesOf,
  exifPrefix,
  gif,
  gifExtension,
  gifFrame,
  jpeg,
  jpegExif,
  jpegSegment,
  type Part,
  png,
  pngChunk,
  type Size,
  sof,
  tiff,
  vp8,
  vp8l,
  vp8x,
  webp,
  webpAnimated,
  webpChunk,
  webpExif,
} from "../support/media-files.js";

/** An image and what it is known to be. */
export interface MadeImage {
  readonly bytes: Uint8Array;
  readonly media: ImageMedia & { readonly mediaType: ImageMediaType } & Size;
}

/** Sizes up to the largest of a format; small ones and the largest come up more often. */
function sizes(largest: number): fc.Arbitrary<Size> {
  const side = fc.oneof(
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: largest }),
    fc.constant(largest),
  );
  return fc.record({ width: side, height: side });
}

const orientations = fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 8);
type Said = NonNullable<ImageMedia["orientation"]>;
const said = (orientation: number | undefined) =>
  orientation === undefined ? {} : { orientation: orientation as Said };

const exifOf = (orientation: number) =>
  fc
    .tuple(fc.constantFrom("II" as const, "MM" as const), fc.nat({ max: 20 }))
    .map(([order, before]) => tiff(orientation, order, before));

/** EXIF, or none, and the orientation that it tells. */
const exifs = fc.option(orientations, { nil: undefined }).chain((orientation) =>
  fc.record({
    orientation: fc.constant(orientation),
    exif: orientation === undefined ? fc.constant(undefined) : exifOf(orientation),
  }),
);

const data = fc.uint8Array({ maxLength: 30 });
const shuffled = (parts: readonly Part[]): fc.Arbitrary<readonly Part[]> =>
  fc.shuffledSubarray([...parts], { minLength: parts.length });

const ancillary = fc
  .tuple(fc.constantFrom("tEXt", "gAMA", "PLTE", "iCCP", "prVt"), data)
  .map(([name, bytes]) => pngChunk(name, bytes));

const pngs: fc.Arbitrary<MadeImage> = fc
  .record({
    size: sizes(0x7fffffff),
    frames: fc.option(fc.integer({ min: 1, max: 0xffffffff }), { nil: undefined }),
    exif: exifs,
    others: fc.array(ancillary, { maxLength: 5 }),
    after: fc.array(fc.oneof(ancillary, fc.constant(acTL(7)), fc.constant(pngChunk("eXIf", tiff(3)))), {
      maxLength: 3,
    }),
  })
  .chain(({ size, frames, exif: { orientation, exif }, others, after }) =>
    shuffled([
      ...others,
      ...(frames === undefined ? [] : [acTL(frames)]),
      ...(exif === undefined ? [] : [pngChunk("eXIf", exif)]),
    ]).map((before) => ({
      bytes: png(size, before, after),
      media: {
        kind: "image" as const,
        mediaType: "image/png" as const,
        ...size,
        animated: frames !== undefined,
        ...(frames === undefined ? {} : { frames }),
        ...said(orientation),
      },
    })),
  );

const frameHeaders = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf] as const;
const fill = fc.nat({ max: 3 }).map((length) => new Uint8Array(length).fill(0xff));
const segment = fc
  .tuple(fill, fc.constantFrom(0xe0, 0xe1, 0xe2, 0xee, 0xfe, 0xdb, 0xdd, 0xc4, 0xc8, 0xcc, 0xf7), data)
  .map(([ff, marker, bytes]) => bytesOf(ff, jpegSegment(marker, bytes)));
const longSegments = fc
  .integer({ min: 5, max: 8 })
  .map((count) =>
    bytesOf(...Array.from({ length: count }, () => jpegSegment(0xe2, new Uint8Array(65_533).fill(0xff)))),
  );

const jpegs: fc.Arbitrary<MadeImage> = fc
  .record({
    size: sizes(0xffff),
    exif: exifs,
    others: fc.array(fc.oneof({ weight: 19, arbitrary: segment }, { weight: 1, arbitrary: longSegments }), {
      maxLength: 6,
    }),
    ff: fill,
    marker: fc.constantFrom(...frameHeaders),
    components: fc.constantFrom(1, 3, 4),
    standalone: fc.boolean(),
  })
  .chain(({ size, exif: { orientation, exif }, others, ff, marker, components, standalone }) =>
    shuffled([
      ...others,
      ...(exif === undefined ? [] : [jpegExif(exif)]),
      ...(standalone ? [[0xff, 0x01]] : []),
    ]).map((before) => ({
      bytes: jpeg(...before, ff, sof(size, marker, components)),
      media: {
        kind: "image" as const,
        mediaType: "image/jpeg" as const,
        ...size,
        animated: false,
        ...said(orientation),
      },
    })),
  );

const colorBits = fc.nat({ max: 8 });
const gifs: fc.Arbitrary<MadeImage> = fc
  .record({
    size: sizes(0xffff),
    global: colorBits,
    frames: fc.array(fc.tuple(fc.nat({ max: 600 }), colorBits), { minLength: 1, maxLength: 4 }),
    extensions: fc.array(fc.tuple(fc.constantFrom(0xf9, 0xfe, 0xff, 0x01, 0x2c), fc.nat({ max: 300 })), {
      maxLength: 3,
    }),
  })
  .chain(({ size, global, frames, extensions }) =>
    shuffled([
      ...frames.map(([length, bits]) => gifFrame(length, bits)),
      ...extensions.map(([label, length]) => gifExtension(label, length)),
    ]).map((blocks) => ({
      bytes: gif(size, blocks, global),
      media: {
        kind: "image" as const,
        mediaType: "image/gif" as const,
        ...size,
        animated: frames.length > 1,
        ...(frames.length > 1 ? { frames: frames.length } : {}),
      },
    })),
  );

const stillWebp = (size: Size) => ({
  kind: "image" as const,
  mediaType: "image/webp" as const,
  ...size,
  animated: false,
});
const bit = fc.integer({ min: 0, max: 1 });
const plainWebps: fc.Arbitrary<MadeImage> = fc.oneof(
  fc.tuple(sizes(0x3fff), fc.integer({ min: 0, max: 3 })).map(([size, scale]) => ({
    bytes: webp(vp8(size, scale)),
    media: stillWebp(size),
  })),
  fc.tuple(sizes(0x4000), bit).map(([size, alpha]) => ({
    bytes: webp(vp8l(size, alpha)),
    media: stillWebp(size),
  })),
);

/** The format forbids more than 2^32 - 1 pixels. */
const canvases = sizes(1 << 24).filter(({ width, height }) => width * height <= 0xffffffff);
const extendedWebps: fc.Arbitrary<MadeImage> = fc
  .record({
    size: canvases,
    frames: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
    exif: exifs,
    prefixed: fc.boolean(),
    other: fc.tuple(fc.constantFrom("ICCP", "XMP ", "what"), data),
    flags: fc.constantFrom(0, 0x10, 0x34),
  })
  .map(({ size, frames, exif: { orientation, exif }, prefixed, other: [name, bytes], flags }) => {
    const frame = webpChunk("ANMF", new Uint8Array(17));
    return {
      bytes: webp(
        vp8x(size, flags | (frames === undefined ? 0 : webpAnimated) | (exif === undefined ? 0 : webpExif)),
        webpChunk(name, bytes),
        ...(frames === undefined
          ? [vp8({ width: 1, height: 1 })]
          : [webpChunk("ANIM", new Uint8Array(6)), ...Array.from({ length: frames }, () => frame)]),
        ...(exif === undefined ? [] : [webpChunk("EXIF", prefixed ? bytesOf(exifPrefix, exif) : exif)]),
      ),
      media: {
        ...stillWebp(size),
        animated: frames !== undefined,
        ...(frames === undefined ? {} : { frames }),
        ...said(orientation),
      },
    };
  });

/** A file of each format that has all that a header can have, and no pixels. */
export const madeImage: fc.Arbitrary<MadeImage> = fc.oneof(pngs, jpegs, gifs, plainWebps, extendedWebps);
