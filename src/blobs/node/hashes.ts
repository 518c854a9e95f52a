import { createHash } from "node:crypto";
import type { HashFunction } from "../hash.js";

/** SHA-256 of Node, about ten times as fast as a portable one. */
export const nodeSha256: HashFunction = { name: "sha256", create: () => createHash("sha256") };
