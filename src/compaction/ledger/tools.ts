import type { FileToolTable } from "./operations.js";

export declare const fileTools: FileToolTable;
