/** The part of this module for Node that the command line uses. */

export { readViewerTemplate } from "./template.js";
