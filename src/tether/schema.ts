/**
 * Frames and the tools' arguments as zod schemas, for the boundary. They agree with what the checks by hand accept in shape;
 * sizes and bytes are `checkFrame`'s.
 *
 * @module tether/schema
 */
import * as z from "zod";

/** A frame of any type. */
export const tetherFrameSchema = z.looseObject({ v: z.literal(1), type: z.string().min(1) });
