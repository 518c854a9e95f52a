// One process of the service: see README.md. Prints its port, and ends in order at SIGTERM.
import Anthropic from "@anthropic-ai/sdk";
import type { BlobStore } from "sessile/blobs";
import { claude, type Model } from "../support/claude.js";
import { scriptedModel } from "./script.js";
import { startService } from "./server.js";
import { openStores } from "./stores.js";

const {
  ANTHROPIC_API_KEY,
  PORT = "0",
  SERVICE_TENANTS = '{"secret":"demo"}',
  SERVICE_THINK_MS,
} = process.env;

const stores = await openStores(process.env);
const modelOf = (blobs: BlobStore): Model =>
  ANTHROPIC_API_KEY === undefined
    ? scriptedModel(Number(SERVICE_THINK_MS ?? 0))
    : claude({ client: new Anthropic(), model: "claude-opus-5-5", blobs, tools: [] });
const service = await startService({
  ...stores,
  modelOf,
  tenants: JSON.parse(SERVICE_TENANTS),
  port: Number(PORT),
  onError: console.error,
});
console.log(`port ${service.port}`);
await new Promise((done) => process.once("SIGINT", done).once("SIGTERM", done));
await service.close();
await stores.close();
