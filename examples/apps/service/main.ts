// One process of the service: see README.md. Prints its port, and ends in order at SIGTERM.
import { anthropicModel, type TurnModel } from "sessile/turn";
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
const modelOf =
  ANTHROPIC_API_KEY === undefined
    ? () => scriptedModel(Number(SERVICE_THINK_MS ?? 0))
    : await claudeOf("claude-opus-5-5");
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

/** A model of Anthropic. The client is loaded only if there is a key. */
async function claudeOf(model: string): Promise<() => TurnModel> {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const claude = anthropicModel(new Anthropic(), { model });
  return () => claude;
}
