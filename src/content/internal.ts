/** A part of this module for other modules of the library, not for its users. */
export {
  type OpaqueMedium,
  opaqueMedia,
  referencesIn,
  resourcesOf,
  withMedia,
  withReferences,
} from "./opaque-media.js";
export { describeImage } from "./resource.js";
