// The server sends the package's own module under this name.
export * from "sessile/viewer";
