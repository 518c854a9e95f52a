/** A part of this module for other modules of the library, not for its users. */
export { describeImage } from "./resource.js";
