/** Made-up secrets: one for each rule, with what has to stand around it. None is or was a credential. */

import fc from "fast-check";

const lower = "abcdefghijklmnopqrstuvwxyz";
const digits = "0123456789";
const letters = lower + lower.toUpperCase();
const alphanumeric = letters + digits;
const urlSafe = `${alphanumeric}-_`;
const hex = "0123456789abcdef";

const of = (alphabet: string, min: number, max = min): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom(...alphabet), { minLength: min, maxLength: max })
    .map((characters) => characters.join(""));
const after = (prefix: string, alphabet: string, min: number, max = min): fc.Arbitrary<string> =>
  of(alphabet, min, max).map((rest) => prefix + rest);
const oneOf = (...prefixes: readonly string[]) => fc.constantFrom(...prefixes);

/** A text, and the parts of it that must not survive. */
export interface Planted {
  readonly text: string;
  readonly secrets: readonly string[];
}

const alone = (secret: fc.Arbitrary<string>): fc.Arbitrary<Planted> =>
  secret.map((text) => ({ text, secrets: [text] }));
const within = (secret: fc.Arbitrary<string>, text: (secret: string) => string): fc.Arbitrary<Planted> =>
  secret.map((each) => ({ text: text(each), secrets: [each] }));

/** A key in PEM whose lines have this width. */
const pem = (width: number) =>
  fc
    .record({ kind: oneOf("", "RSA ", "EC ", "OPENSSH "), body: of(`${alphanumeric}+/`, 120, 400) })
    .map(({ kind, body }): Planted => {
      const lines = body.match(new RegExp(`.{1,${width}}`, "g")) ?? [];
      const text = `-----BEGIN ${kind}PRIVATE KEY-----\n${lines.join("\n")}\n-----END ${kind}PRIVATE KEY-----`;
      return { text, secrets: lines.filter((line) => line.length > 16) };
    });

export const planted: Readonly<Record<string, fc.Arbitrary<Planted>>> = {
  "private-key": pem(64),
  "anthropic-key": alone(after("sk-ant-api03-", urlSafe, 93).map((key) => `${key}AA`)),
  "openai-key": fc.oneof(
    alone(after("sk-proj-", urlSafe, 120, 156)),
    alone(fc.tuple(of(alphanumeric, 20), of(alphanumeric, 20)).map(([a, b]) => `sk-${a}T3BlbkFJ${b}`)),
  ),
  "openrouter-key": alone(after("sk-or-v1-", hex, 64)),
  "groq-key": alone(after("gsk_", alphanumeric, 52)),
  "perplexity-key": alone(after("pplx-", alphanumeric, 48)),
  "huggingface-token": alone(after("hf_", letters, 34)),
  "aws-access-key-id": alone(
    oneOf("AKIA", "ASIA").chain((prefix) => after(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
  ),
  "aws-secret-key": within(of(`${alphanumeric}/+`, 40), (key) => `aws_secret_access_key = ${key}`),
  "google-api-key": alone(after("AIza", urlSafe, 34).map((key) => `${key}0`)),
  "google-oauth-secret": alone(after("GOCSPX-", urlSafe, 28)),
  "azure-client-secret": alone(of(alphanumeric, 3).chain((start) => after(`${start}8Q~`, alphanumeric, 34))),
  "azure-storage-key": within(
    of(`${alphanumeric}+/`, 86).map((key) => `${key}==`),
    (key) => `AccountName=a;AccountKey=${key};EndpointSuffix=core.windows.net`,
  ),
  "alibaba-access-key-id": alone(after("LTAI", alphanumeric, 20)),
  "digitalocean-token": alone(after("dop_v1_", hex, 64)),
  "databricks-token": alone(after("dapi", hex, 32)),
  "heroku-key": alone(after("HRKU-AA", urlSafe, 58)),
  "github-token": fc.oneof(
    alone(oneOf("ghp_", "gho_", "ghu_", "ghs_", "ghr_").chain((prefix) => after(prefix, alphanumeric, 36))),
    alone(after("github_pat_", `${alphanumeric}_`, 82)),
  ),
  "gitlab-token": alone(oneOf("glpat-", "gldt-", "glrt-").chain((prefix) => after(prefix, urlSafe, 20))),
  "atlassian-token": alone(after("ATATT3", `${urlSafe}=`, 186)),
  "npm-token": alone(after("npm_", alphanumeric, 36)),
  "pypi-token": alone(after("pypi-AgEIcHlwaS5vcmc", urlSafe, 50, 160)),
  "rubygems-token": alone(after("rubygems_", hex, 48)),
  "docker-token": alone(after("dckr_pat_", urlSafe, 27)),
  "slack-token": alone(
    fc.tuple(of(digits, 11), of(digits, 12), of(alphanumeric, 24)).map((parts) => `xoxb-${parts.join("-")}`),
  ),
  "slack-webhook": within(
    fc.tuple(of(alphanumeric, 9), of(alphanumeric, 11), of(alphanumeric, 24)).map((parts) => parts.join("/")),
    (path) => `https://hooks.slack.com/services/${path}`,
  ),
  "discord-webhook": within(
    fc.tuple(of(digits, 18), of(urlSafe, 68)).map((parts) => parts.join("/")),
    (path) => `https://discord.com/api/webhooks/${path}`,
  ),
  "telegram-token": alone(of(digits, 10).chain((id) => after(`${id}:AA`, urlSafe, 33))),
  "stripe-key": alone(
    oneOf("sk_live_", "rk_test_", "whsec_").chain((prefix) => after(prefix, alphanumeric, 24, 99)),
  ),
  "square-token": alone(after("sq0atp-", urlSafe, 22)),
  "shopify-token": alone(after("shpat_", hex, 32)),
  "twilio-key": alone(after("SK", hex, 32)),
  "sendgrid-key": alone(fc.tuple(of(urlSafe, 22), of(urlSafe, 43)).map((parts) => `SG.${parts.join(".")}`)),
  "vault-token": alone(after("hvs.", urlSafe, 95)),
  "terraform-token": alone(of(alphanumeric, 14).chain((id) => after(`${id}.atlasv1.`, urlSafe, 67))),
  "doppler-token": alone(after("dp.pt.", alphanumeric, 43)),
  "grafana-token": alone(
    fc.tuple(of(alphanumeric, 32), of(hex, 8)).map((parts) => `glsa_${parts.join("_")}`),
  ),
  "sentry-token": alone(after("sntryu_", hex, 64)),
  "linear-key": alone(after("lin_api_", alphanumeric, 40)),
  "notion-token": alone(of(digits, 11).chain((id) => after(`ntn_${id}`, alphanumeric, 35))),
  "postman-key": alone(fc.tuple(of(hex, 24), of(hex, 34)).map((parts) => `PMAK-${parts.join("-")}`)),
  "planetscale-token": alone(after("pscale_tkn_", urlSafe, 43)),
  "age-key": alone(after("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
  "1password-token": alone(after("ops_eyJ", alphanumeric, 250, 300)),
  "authorization-header": within(of(alphanumeric, 20, 60), (token) => `Authorization: Bearer ${token}`),
  "url-password": within(of(`${alphanumeric}!$%`, 20, 40), (word) => `postgres://app:${word}@db.example/app`),
  "json-web-token": alone(
    fc
      .tuple(of(urlSafe, 20, 40), of(urlSafe, 20, 80), of(urlSafe, 43))
      .map(([a, b, c]) => `eyJ${a}.eyJ${b}.${c}`),
  ),
  "assigned-secret": within(
    // Its characters differ, as those of a random value do.
    fc
      .shuffledSubarray([...alphanumeric], { minLength: 20, maxLength: 40 })
      .map((some) => `${some.join("")}a1`),
    (value) => `DB_PASSWORD=${value}`,
  ),
  "home-directory": within(after("zq", lower, 16, 20), (name) => `/home/${name}/project`),
};
