/** The stores of the service, from the environment. */
import { fileBlobStore } from "sessile/blobs/node";
import { fileSessionStore } from "sessile/session/node";

export async function openStores(env: NodeJS.ProcessEnv) {
  const dir = env.SERVICE_BLOBS ?? ".service";
  return {
    sessions: fileSessionStore({ dir: `${dir}/sessions` }),
    blobs: fileBlobStore({ dir: `${dir}/blobs`, quota: Number(env.SERVICE_QUOTA ?? 1e9) }),
    async close() {},
  };
}
