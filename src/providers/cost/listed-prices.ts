/** The prices of hosts and gateways as pi lists them, where no other source is in the table. */

import { exact, type ModelPrice, rates } from "./price.js";

/**
 * The rates of input, of reads, of output, and of writes if they differ from input, in US dollars per million
 * tokens; after `>` the rates of longer prompts, or none if there are several; then the models. A rate of
 * reads equal to that of input is a host without a discount, or one whose rate pi does not know. Models whose
 * host asks the maker's price are not repeated.
 *
 * @see the npm package @earendil-works/pi-ai 1.6.0, dist/providers/data/*.json, generated 2026-11-20, read
 *   2026-11-28
 */
const listed: Readonly<Record<string, string>> = {
  openai: `
5 .5 30 chat-latest
30 30 60 gpt-4
10 10 30 gpt-4-turbo
2 .5 8 gpt-4.1 o3
.4 .1 1.6 gpt-4.1-mini
2.5 1.25 10 gpt-4o gpt-4o-2024-08-06 gpt-4o-2024-11-20
5 5 15 gpt-4o-2024-05-13
.15 .075 .6 gpt-4o-mini
1.25 .125 10 gpt-5 gpt-5-chat-latest gpt-5.1
15 15 120 gpt-5-pro
1.75 .175 14 gpt-5.2 gpt-5.3-codex gpt-5.3-codex-spark
21 21 168 gpt-5.2-pro
30 30 180 >272000 60 60 270 gpt-5.4-pro gpt-5.5-pro
12.5 1.25 75 15.625 gpt-5.6-cyber gpt-daybreak-red-latest
10 1 50 12.5 >272000 20 2 75 25 gpt-6-astra
20 2 100 25 gpt-6-cyber
.1 .01 .5 .125 >272000 .2 .02 .75 .25 gpt-6-luna
2 .1 10 2.5 >272000 4 .2 15 5 gpt-6.1-sol
1 .05 5 1.25 >272000 2 .1 7.5 2.5 gpt-6.1-terra
8 .4 40 10 >272000 16 .8 60 20 gpt-6.2-astra
4 .4 20 5 >272000 8 .8 30 10 gpt-daybreak-blue-latest
15 7.5 60 o1
150 150 600 o1-pro
1.1 .55 4.4 o3-mini
20 20 80 o3-pro
1.1 .275 4.4 o4-mini
`,
  google: `
2 .2 12 >200000 4 .4 18 deep-research-max-preview-04-2026 deep-research-preview-04-2026
gemini-3.1-pro-preview-customtools gemini-pro-latest
1.25 1.25 10 gemini-2.5-computer-use-preview-10-2025
.1 .01 .4 gemini-2.5-flash-lite
.5 .05 3 gemini-3-flash-preview
.25 .025 1.5 gemini-3.1-flash-lite gemini-3.1-flash-lite-preview gemini-flash-lite-latest
.75 .075 3.75 gemini-3.6-flash gemini-3.7-flash
2 .1 10 gemini-4-argon gemini-4-carbon
1.5 .075 7.5 gemini-4-hydrogen
3 .15 15 gemini-4-neon
1.5 .15 9 gemini-flash-latest
1 .1 5 gemini-robotics-er-2-preview
`,
  xai: `
1.25 .2 2.5 >200000 2.5 .4 5 grok-4.3
2 .3 6 >200000 4 .6 12 grok-4.5
2 .5 6 >200000 4 1 12 grok-4.6 grok-4.7
`,
  mistral: `
.3 .03 .9 codestral-latest
.3 .007 1.2 deepseek-v4-1-flash-1017
.4 .04 2 devstral-latest devstral-medium-latest
1.4 .14 4.4 glm-5-2 zai-glm-5-2 zai-glm-5-3
2 .2 5 magistral-medium-latest
.2 .02 .2 ministral-14b-2512
.1 .01 .1 ministral-3b-2512 ministral-3b-latest
.15 .015 .15 ministral-8b-2512 ministral-8b-latest open-mistral-nemo pixtral-12b
.7 .07 2.1 mistral-large-4 mistral-large-4-0-8 mistral-large-latest
1.5 .15 7.5 mistral-medium-2604
.1 .01 .3 mistral-small-2506
.15 .015 .6 mistral-small-latest
.1 .01 .4 voxtral-small-2507 voxtral-small-latest
.15 .03 .5 zai-glm-5-3-flash
`,
  zai: `
.6 .11 2.2 glm-4.7
1.2 .24 4 glm-5-turbo
`,
  minimax: `
.3 .06 1.2 .375 MiniMax-M2.7
.6 .06 2.4 .375 MiniMax-M2.7-highspeed
.3 .06 1.2 >512000 .6 .12 2.4 MiniMax-M3
.15 .015 .6 MiniMax-M3.1-Flash
`,
  meta: `
.1 .004 .5 >200000 .3 .012 1.5 muse-ember-1.0
1.25 .15 4.25 muse-spark-1.1 muse-spark-1.2 muse-spark-1.3
.1 .002 .2 muse-spark-1.2-contributor muse-spark-1.3-contributor
4 .2 20 muse-wonder-1.0
`,
  xiaomi: `
.14 .0028 .28 mimo-v2.6-flash
.435 .0036 .87 mimo-v2.6-pro
4.35 .036 8.7 mimo-v2.6-pro-ultraspeed
`,
  "amazon-bedrock": `
.33 .0825 2.75 amazon.nova-2-lite-v1:0 us.amazon.nova-2-lite-v1:0
.06 .015 .24 amazon.nova-lite-v1:0 us.amazon.nova-lite-v1:0
.035 .00875 .14 amazon.nova-micro-v1:0 us.amazon.nova-micro-v1:0
.8 .2 3.2 amazon.nova-pro-v1:0 us.amazon.nova-pro-v1:0
11 1.1 55 13.75 anthropic.claude-fable-5
11 .275 55 13.75 anthropic.claude-fable-5-1
8.8 .22 44 11 anthropic.claude-fable-5-2
1.1 .11 5.5 1.375 anthropic.claude-haiku-4-5-20251001-v1:0
.11 .011 .55 .1375 >100000 .55 .055 2.75 .6875 anthropic.claude-haiku-5-5
5.5 .55 27.5 6.875 anthropic.claude-opus-4-5-20251101-v1:0 anthropic.claude-opus-4-6-v1
anthropic.claude-opus-4-7 anthropic.claude-opus-4-8
4.4 .22 22 5.5 anthropic.claude-opus-5-5 us.moonshotai.kimi-k3.1
3.3 .33 16.5 4.125 anthropic.claude-sonnet-4-5-20250929-v1:0 anthropic.claude-sonnet-4-6
us.moonshotai.kimi-k3
2.2 .22 11 2.75 anthropic.claude-sonnet-5
2.2 .11 11 2.75 anthropic.claude-sonnet-5-5
.063 .01575 .252 apac.amazon.nova-lite-v1:0
.037 .00925 .148 apac.amazon.nova-micro-v1:0
.84 .21 3.36 apac.amazon.nova-pro-v1:0
.064 .016 .256 ca.amazon.nova-lite-v1:0
.58 .58 1.68 deepseek.v3-v1:0
.62 .62 1.85 deepseek.v3.2
.374 .0935 3.157 eu.amazon.nova-2-lite-v1:0
.069 .01725 .276 eu.amazon.nova-lite-v1:0
.04 .01 .16 eu.amazon.nova-micro-v1:0
.92 .23 3.68 eu.amazon.nova-pro-v1:0
2 2 6 eu.mistral.pixtral-large-2502-v1:0 mistral.pixtral-large-2502-v1:0 us.mistral.pixtral-large-2502-v1:0
.3 .075 2.5 global.amazon.nova-2-lite-v1:0
3 .3 15 3.75 global.moonshotai.kimi-k3
4 .2 20 5 global.moonshotai.kimi-k3.1
.2 .02 1.2 .25 >272000 .4 .04 1.8 .5 global.openai.gpt-5.6-luna
4 .4 20 5 >272000 8 .8 30 10 global.openai.gpt-5.6-sol
2 .2 12 2.5 >272000 4 .4 18 5 global.openai.gpt-5.6-terra
10 1 50 12.5 >272000 20 2 75 25 global.openai.gpt-6-astra
.1 .01 .5 .125 >272000 .2 .02 .75 .25 global.openai.gpt-6-luna
2 .2 10 2.5 >272000 4 .4 15 5 global.openai.gpt-6-sol
2 .1 10 2.5 >272000 4 .2 15 5 global.openai.gpt-6.1-sol global.openai.gpt-6.2-sol
1 .05 5 1.25 >272000 2 .1 7.5 2.5 global.openai.gpt-6.1-terra
8 .4 40 10 >272000 16 .8 60 20 global.openai.gpt-6.2-astra
2 .5 6 global.xai.grok-4.6 global.xai.grok-4.7
1.68 .312 5.28 2.1 global.zai.glm-5.3
.13 .13 .4 google.gemma-4-26b-a4b
.14 .14 .4 google.gemma-4-31b
.04 .04 .08 google.gemma-4-e2b
.22 .022 1.32 .275 >272000 .44 .044 1.98 .55 in.openai.gpt-5.6-luna openai.gpt-5.6-luna
us.openai.gpt-5.6-luna
2.2 .22 13.2 2.75 >272000 4.4 .44 19.8 5.5 in.openai.gpt-5.6-terra openai.gpt-5.6-terra
us.openai.gpt-5.6-terra
.396 .099 3.311 jp.amazon.nova-2-lite-v1:0
.72 .72 .72 meta.llama3-1-70b-instruct-v1:0 meta.llama3-3-70b-instruct-v1:0
us.meta.llama3-1-70b-instruct-v1:0 us.meta.llama3-3-70b-instruct-v1:0
.22 .22 .22 meta.llama3-1-8b-instruct-v1:0 us.meta.llama3-1-8b-instruct-v1:0
.24 .24 .97 meta.llama4-maverick-17b-instruct-v1:0 us.meta.llama4-maverick-17b-instruct-v1:0
.17 .17 .66 meta.llama4-scout-17b-instruct-v1:0 us.meta.llama4-scout-17b-instruct-v1:0
.3 .3 1.2 minimax.minimax-m2 minimax.minimax-m2.1 minimax.minimax-m2.5
.4 .4 2 mistral.devstral-2-123b
.5 .5 1.5 mistral.magistral-small-2509 mistral.mistral-large-3-675b-instruct
.2 .2 .2 mistral.ministral-3-14b-instruct
.1 .1 .1 mistral.ministral-3-3b-instruct
.15 .15 .15 mistral.ministral-3-8b-instruct
.04 .04 .04 mistral.voxtral-mini-3b-2507
.1 .1 .3 mistral.voxtral-small-24b-2507
.6 .6 2.5 moonshot.kimi-k2-thinking
.6 .6 3 moonshotai.kimi-k2.5
.2 .2 .6 nvidia.nemotron-nano-12b-v2
.06 .06 .24 nvidia.nemotron-nano-3-30b
.06 .06 .23 nvidia.nemotron-nano-9b-v2
.15 .15 .65 nvidia.nemotron-super-3-120b
2.75 .275 16.5 openai.gpt-5.4
5.5 .55 33 openai.gpt-5.5
4.4 .44 22 5.5 >272000 8.8 .88 33 11 openai.gpt-5.6-sol us.openai.gpt-5.6-sol
11 1.1 55 13.75 >272000 22 2.2 82.5 27.5 openai.gpt-6-astra us.openai.gpt-6-astra
.11 .011 .55 .1375 >272000 .22 .022 .825 .275 openai.gpt-6-luna us.openai.gpt-6-luna
2.2 .22 11 2.75 >272000 4.4 .44 16.5 5.5 openai.gpt-6-sol us.openai.gpt-6-sol
2.2 .11 11 2.75 >272000 4.4 .22 16.5 5.5 openai.gpt-6.1-sol openai.gpt-6.2-sol us.openai.gpt-6.1-sol
us.openai.gpt-6.2-sol
1.1 .055 5.5 1.375 >272000 2.2 .11 8.25 2.75 openai.gpt-6.1-terra us.openai.gpt-6.1-terra
8.8 .44 44 11 >272000 17.6 .88 66 22 openai.gpt-6.2-astra us.openai.gpt-6.2-astra
.15 .15 .6 openai.gpt-oss-120b openai.gpt-oss-120b-1:0 openai.gpt-oss-safeguard-120b qwen.qwen3-32b-v1:0
qwen.qwen3-coder-30b-a3b-v1:0
.07 .07 .3 openai.gpt-oss-20b openai.gpt-oss-20b-1:0
.07 .07 .2 openai.gpt-oss-safeguard-20b
.22 .22 .88 qwen.qwen3-235b-a22b-2507-v1:0
.45 .45 1.8 qwen.qwen3-coder-480b-a35b-v1:0
.5 .5 1.2 qwen.qwen3-coder-next
.15 .15 1.2 qwen.qwen3-next-80b-a3b
.53 .53 2.66 qwen.qwen3-vl-235b-a22b
.18 .18 .72 us-gov.openai.gpt-oss-120b-1:0
.084 .084 .36 us-gov.openai.gpt-oss-20b-1:0
2.5 .625 12.5 us.amazon.nova-premier-v1:0
2.5 2.5 10 us.writer.palmyra-x4-v1:0 writer.palmyra-x4-v1:0
.6 .6 6 us.writer.palmyra-x5-v1:0 writer.palmyra-x5-v1:0
2.2 .55 6.6 us.xai.grok-4.6 us.xai.grok-4.7 xai.grok-4.6
1.848 .3432 5.808 2.31 us.zai.glm-5.3
1.25 .2 2.5 xai.grok-4.3
.6 .6 2.2 zai.glm-4.7
.07 .07 .4 zai.glm-4.7-flash
1 1 3.2 zai.glm-5
`,
  azure: `
5 .5 30 chat-latest
1.925 .165 3.828 deepseek-v4-pro
`,
  groq: `
.05 .05 .08 llama-3.1-8b-instant
.59 .59 .79 llama-3.3-70b-versatile
.15 .075 .6 openai/gpt-oss-120b
.075 .0375 .3 openai/gpt-oss-20b openai/gpt-oss-safeguard-20b
.6 .3 3 qwen/qwen3.6-27b
.8 .8 4 qwen/qwen3.8-27b
`,
  cerebras: `
.35 .35 .75 gpt-oss-120b
.99 .99 1.49 qwen-3.8-27b
`,
  together: `
1.32 .13 3.96 deepseek-ai/DeepSeek-V4-Pro-0813
.3 .006 1.2 deepseek-ai/DeepSeek-V4.1-Flash
1.25 .15 4.25 meta-models/Muse-Spark-Open-816B-A42B
.3 .06 1.2 MiniMaxAI/MiniMax-M3
3 .3 15 moonshotai/Kimi-K3
2 .2 10 moonshotai/Kimi-K3.1-Pro
.15 .02 .5 nvidia/NVIDIA-Nemotron-3.5-Super-VL
.15 .15 .6 openai/gpt-oss-120b
.17 .17 .25 Qwen/Qwen3.5-9B
.5 .5 3 Qwen/Qwen3.6-Plus
2.5 .5 7.5 Qwen/Qwen3.7-Max
.4 .04 1.2 reflection/Beam-1.0-501B-A23B
1 .17 4.05 thinkingmachines/Inkling
1.4 .26 4.4 zai-org/GLM-5.2 zai-org/GLM-5.3
.15 .03 .5 zai-org/GLM-5.3-Flash
`,
  fireworks: `
.3 .006 1.2 accounts/fireworks/models/deepseek-v4p1-flash accounts/fireworks/models/deepseek-v4p1-flash-1017
accounts/fireworks/routers/deepseek-flash-latest
3 .3 15 accounts/fireworks/models/ember-1 accounts/fireworks/models/kimi-k3
.3 .06 1.2 accounts/fireworks/models/minimax-m3 accounts/fireworks/routers/minimax-latest
.15 .015 .6 accounts/fireworks/models/minimax-m3p1-flash
1.25 .15 4.25 accounts/fireworks/models/muse-spark-open
2 .25 6 accounts/fireworks/models/qwen3p8-2p4t-a95b accounts/fireworks/models/qwen3p8-max
accounts/fireworks/routers/qwen-max-latest
.15 .003 .6 accounts/fireworks/routers/deepseek-v4p1-flash-1017-spot
accounts/fireworks/routers/deepseek-v4p1-flash-spot
1.2 .024 4.8 accounts/fireworks/routers/deepseek-v4p1-flash-1017-ultrafast
4.5 .45 22.5 accounts/fireworks/routers/kimi-fast-latest accounts/fireworks/routers/kimi-k3-fast
2 .2 10 accounts/fireworks/routers/kimi-latest accounts/fireworks/models/kimi-k3p1-pro
1.4 .26 4.4 accounts/fireworks/models/glm-5p3 accounts/fireworks/routers/glm-latest
.15 .03 .5 accounts/fireworks/models/glm-5p3-flash accounts/fireworks/routers/glm-flash-latest
2.1 .39 6.6 accounts/fireworks/routers/glm-5p3-fast accounts/fireworks/routers/glm-fast-latest
.7 .13 2.2 accounts/fireworks/routers/glm-5p3-spot
2.1 .21 10.5 accounts/fireworks/routers/kimi-k3-spot
`,
  baseten: `
.13 .028 .26 deepseek-ai/DeepSeek-V4-Flash-0731
1.32 .132 3.96 deepseek-ai/DeepSeek-V4-Pro-0813
.3 .007 1.2 deepseek-ai/DeepSeek-V4.1-Flash deepseek-ai/DeepSeek-V4.1-Flash-1017
.6 .014 2.4 deepseek-ai/DeepSeek-V4.1-Flash-1017-Fast deepseek-ai/DeepSeek-V4.1-Flash-Fast
3 .3 15 moonshotai/Kimi-K3
2 .2 10 moonshotai/Kimi-K3.1-Pro
.6 .12 2.4 nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B
.1 .1 .5 openai/gpt-oss-120b
1.4 .14 4.4 zai-org/GLM-5.2 zai-org/GLM-5.3
2.1 .21 6.6 zai-org/GLM-5.2-Fast zai-org/GLM-5.3-Fast
.15 .03 .5 zai-org/GLM-5.3-Flash
`,
  huggingface: `
.7 .7 2.5 deepseek-ai/DeepSeek-R1
3 3 5 deepseek-ai/DeepSeek-R1-0528
.4 .4 1.3 deepseek-ai/DeepSeek-V3
.27 .27 1.12 deepseek-ai/DeepSeek-V3-0324
.27 .27 1 deepseek-ai/DeepSeek-V3.1
.28 .28 .4 deepseek-ai/DeepSeek-V3.2
.14 .14 .28 deepseek-ai/DeepSeek-V4-Flash deepseek-ai/DeepSeek-V4-Flash-0731
.44 .44 1.32 deepseek-ai/DeepSeek-V4-Flash-Vision-Exp
.435 .003625 .87 deepseek-ai/DeepSeek-V4-Pro
1.32 1.32 3.96 deepseek-ai/DeepSeek-V4-Pro-0813
.3 .3 1.2 deepseek-ai/DeepSeek-V4.1-Flash deepseek-ai/DeepSeek-V4.1-Flash-1017 MiniMaxAI/MiniMax-M2
MiniMaxAI/MiniMax-M2.1 MiniMaxAI/MiniMax-M3
.05 .05 .15 google/gemma-3-12b-it
.08 .08 .16 google/gemma-3-27b-it
.05 .05 .1 google/gemma-3-4b-it
.13 .13 .4 google/gemma-4-26B-A4B-it
.14 .14 .4 google/gemma-4-31B-it
.72 .72 .72 meta-llama/Llama-3.1-70B-Instruct
.06 .06 .06 meta-llama/Llama-3.1-8B-Instruct
.027 .027 .201 meta-llama/Llama-3.2-1B-Instruct
.0509 .0509 .335 meta-llama/Llama-3.2-3B-Instruct
.59 .59 .79 meta-llama/Llama-3.3-70B-Instruct
.55 .55 2.2 MiniMaxAI/MiniMax-M1-80k zai-org/GLM-4.6
.3 .03 1.2 MiniMaxAI/MiniMax-M2.5
.3 .06 1.2 MiniMaxAI/MiniMax-M2.7
.15 .15 .6 MiniMaxAI/MiniMax-M3.1-Flash
1 1 3 moonshotai/Kimi-K2-Instruct moonshotai/Kimi-K2-Instruct-0905 XiaomiMiMo/MiMo-V2.5-Pro
.6 .15 2.5 moonshotai/Kimi-K2-Thinking
.6 .1 3 moonshotai/Kimi-K2.5
.95 .16 4 moonshotai/Kimi-K2.6
.95 .95 4 moonshotai/Kimi-K2.7-Code
3 3 15 moonshotai/Kimi-K3
2 2 10 moonshotai/Kimi-K3.1-Pro
.25 .25 .69 openai/gpt-oss-120b
.1 .1 .5 openai/gpt-oss-20b
.06 .06 .2 Qwen/Qwen2.5-Coder-32B-Instruct
.2 .2 .8 Qwen/Qwen3-235B-A22B
.855 .855 2.565 Qwen/Qwen3-235B-A22B-Instruct-2507
.3 .3 3 Qwen/Qwen3-235B-A22B-Thinking-2507
.12 .12 .5 Qwen/Qwen3-30B-A3B
.09 .09 .3 Qwen/Qwen3-30B-A3B-Instruct-2507
.29 .29 .59 Qwen/Qwen3-32B
.07 .07 .18 Qwen/Qwen3-8B
.07 .07 .26 Qwen/Qwen3-Coder-30B-A3B-Instruct
2 2 2 Qwen/Qwen3-Coder-480B-A35B-Instruct
.2 .2 1.5 Qwen/Qwen3-Coder-Next
.25 .25 1 Qwen/Qwen3-Next-80B-A3B-Instruct
.3 .3 1.5 Qwen/Qwen3-VL-235B-A22B-Instruct
.98 .98 3.95 Qwen/Qwen3-VL-235B-A22B-Thinking
.2 .2 .7 Qwen/Qwen3-VL-30B-A3B-Instruct
.4 .4 3.2 Qwen/Qwen3.5-122B-A10B
.3 .3 2.4 Qwen/Qwen3.5-27B
.25 .25 2 Qwen/Qwen3.5-35B-A3B
.6 .6 3.6 Qwen/Qwen3.5-397B-A17B
.17 .17 .25 Qwen/Qwen3.5-9B
.47 .47 3.19 Qwen/Qwen3.6-27B
.15 .15 .95 Qwen/Qwen3.6-35B-A3B
2.5 2.5 6.25 Qwen/Qwen3.8-2.4T-A95B
.4 .4 3 Qwen/Qwen3.8-27B
.1 .1 .3 stepfun-ai/Step-3.5-Flash
.2 .2 1.15 stepfun-ai/Step-3.7-Flash
.14 .14 .58 tencent/Hy3
.035 .035 .1405 tencent/Hy4-flash
.834 .834 2.501 tencent/Hy4-preview
1 1 4.05 thinkingmachines/Inkling
.3 .3 1 thinkingmachines/Inkling-2-Small
.5 .5 1.2 thinkingmachines/Inkling-Small
.4 .4 2 XiaomiMiMo/MiMo-V2.5
.6 .6 2.2 zai-org/GLM-4.5
.13 .13 .85 zai-org/GLM-4.5-Air
.6 .6 1.8 zai-org/GLM-4.5V
.3 .3 .9 zai-org/GLM-4.6V zai-org/GLM-4.6V-Flash
.6 .11 2.2 zai-org/GLM-4.7
1 .2 3.2 zai-org/GLM-5 zai-org/GLM-5.1
1.4 1.4 4.4 zai-org/GLM-5.2 zai-org/GLM-5.3
.15 .15 .5 zai-org/GLM-5.3-Flash
`,
  "cloudflare-workers-ai": `
.44 .014 1.32 @cf/deepseek-ai/deepseek-v4-flash-0731
1.32 .044 3.96 @cf/deepseek-ai/deepseek-v4-pro-0813
.3 .006 1.2 @cf/deepseek-ai/deepseek-v4.1-flash-1017
.1 .05 .3 @cf/google/gemma-4-26b-a4b-it
.017 .017 .112 @cf/ibm-granite/granite-4.0-h-micro
.293 .293 2.253 @cf/meta/llama-3.3-70b-instruct-fp8-fast
.27 .27 .85 @cf/meta/llama-4-scout-17b-16e-instruct
.351 .351 .555 @cf/mistralai/mistral-small-3.1-24b-instruct
.95 .16 4 @cf/moonshotai/kimi-k2.6
.95 .19 4 @cf/moonshotai/kimi-k2.7-code
.5 .5 1.5 @cf/nvidia/nemotron-3-120b-a12b
.35 .35 .75 @cf/openai/gpt-oss-120b
.2 .2 .3 @cf/openai/gpt-oss-20b
.0509 .0509 .335 @cf/qwen/qwen3-30b-a3b-fp8
.45 .05 3.2 @cf/qwen/qwen3.8-27b
.3 .1 1 @cf/thinkingmachines/inkling-2-small
.0605 .0605 .4 @cf/zai-org/glm-4.7-flash
1.4 .26 4.4 @cf/zai-org/glm-5.2 @cf/zai-org/glm-5.3
.15 .03 .5 @cf/zai-org/glm-5.3-flash
`,
  "github-copilot": `
10 1 50 12.5 claude-fable-5
10 .25 50 12.5 claude-fable-5.1
8 .2 40 10 claude-fable-5.2
1 .1 5 1.25 claude-haiku-4.5
.1 .01 .5 .125 >100000 .5 .05 2.5 .625 claude-haiku-5.5
5 .5 25 6.25 claude-opus-4.8 claude-opus-5
4 .2 20 5 claude-opus-5.5
3 .3 15 3.75 claude-sonnet-4.6
2 .2 10 2.5 claude-sonnet-5
2 .1 10 2.5 claude-sonnet-5.5
.75 .075 3.75 gemini-3.8-flash
2 .1 10 gemini-4-argon gemini-4-carbon
1.5 .075 7.5 gemini-4-hydrogen
3 .15 15 gemini-4-neon
3 .3 15 kimi-k3
1.75 .175 14 gpt-5.3-codex
.2 .02 1.25 gpt-5.4-nano
.2 .02 1.2 .25 >200000 .4 .04 1.8 .5 gpt-5.6-luna
4 .4 20 5 >272000 8 .8 30 10 gpt-5.6-sol
2 .2 12 2.5 >272000 4 .4 18 5 gpt-5.6-terra
10 1 50 12.5 >272000 20 2 75 25 gpt-6-astra
.1 .01 .5 .125 >272000 .2 .02 .75 .25 gpt-6-luna
2 .2 10 2.5 >272000 4 .4 15 5 gpt-6-sol
2 .1 10 2.5 >272000 4 .2 15 5 gpt-6.1-sol gpt-6.2-sol
1 .05 5 1.25 >272000 2 .1 7.5 2.5 gpt-6.1-terra
8 .4 40 10 >272000 16 .8 60 20 gpt-6.2-astra
2 .5 6 >200000 4 1 12 grok-4.5 grok-4.6 grok-4.7
.2 .02 1.2 mai-code-1.1-flash
.5 .025 2.5 mai-code-2
.05 .005 .25 mai-code-2-flash
`,
  "kimi-coding": `
3 .3 15 k3 k3-256k
2 .2 10 k3.1-pro
4 .2 20 k3.1-pro-highspeed
.95 .19 4 kimi-for-coding
1.9 .38 8 kimi-for-coding-highspeed
`,
  "moonshotai-cn": `
.9711 .1643 4.0337 kimi-k2.6
.9711 .1942 4.0337 kimi-k2.7-code
1.9421 .3884 8.0673 kimi-k2.7-code-highspeed
1.9437 .1944 10.1671 kimi-k3.1-pro
3.8874 .1944 20.3342 kimi-k3.1-pro-highspeed
`,
  "minimax-cn": `
.3137 .0627 1.2549 .3922 MiniMax-M2.7
.6275 .0627 2.5098 .3922 MiniMax-M2.7-highspeed
.3137 .0627 1.2549 >512000 .6275 .1255 2.5098 MiniMax-M3
.1494 .0149 .5976 MiniMax-M3.1-Flash
`,
  "zai-coding-cn": `
.3 .05 .9 glm-4.6v
`,
  "ant-ling": `
.06 .06 .25 Ling-2.6-1T Ring-2.6-1T
.01 .01 .02 Ling-2.6-flash
`,
  openrouter: `
8 .2 40 10 ~anthropic/claude-fable-latest
.1 .01 .5 .125 >100000 .5 .05 2.5 .625 ~anthropic/claude-haiku-latest
4 .2 20 5 ~anthropic/claude-opus-latest
2 .1 10 2.5 ~anthropic/claude-sonnet-latest anthropic/claude-opus-5.5:batch
.036 .01 .5 ~deepseek/deepseek-flash-latest
.2565 .26 8 ~deepseek/deepseek-pro-latest
.047 .035 .3 ~deepseek/deepseek-v4-flash-latest deepseek/deepseek-v4-flash-0731
1.5 .075 7.5 .083333 ~google/gemini-flash-latest google/gemini-4-hydrogen google/gemini-4-neon:batch
2 .1 10 .1875 ~google/gemini-pro-latest google/gemini-4-argon google/gemini-4-carbon
.1805 .18 11.0055 ~moonshotai/kimi-latest
8 .4 40 10 >272000 16 .8 60 20 ~openai/gpt-astra-latest openai/gpt-6.2-astra-pro
.1 .01 .5 .125 >272000 .2 .02 .75 .25 ~openai/gpt-luna-latest openai/gpt-6-luna-pro
.75 .075 4.5 ~openai/gpt-mini-latest google/gemini-3.5-flash:batch
2 .1 10 2.5 >272000 4 .2 15 5 ~openai/gpt-sol-latest openai/gpt-6.1-sol-pro openai/gpt-6.2-sol-pro
1 .05 5 1.25 >272000 2 .1 7.5 2.5 ~openai/gpt-terra-latest openai/gpt-6.1-sol-pro:batch
openai/gpt-6.1-sol:batch openai/gpt-6.1-terra-pro openai/gpt-6.2-sol-pro:batch openai/gpt-6.2-sol:batch
.8 .03 3.2 ~unbiased/pareto-latest unbiased/pareto-26.10 unbiased/pareto-26.10-preview
2 .5 6 >200000 4 1 12 ~x-ai/grok-latest
.0399 .03 .0784 ~z-ai/glm-flash-latest z-ai/glm-5.3-flash
.0699 .0689 1.4 ~z-ai/glm-latest z-ai/glm-5.3
.8 .2 1.6 aion-labs/aion-2.0
3 .75 6 aion-labs/aion-3.0 aion-labs/aion-3.5
.7 .18 1.4 aion-labs/aion-3.0-mini aion-labs/aion-3.5-mini
.3 .3 2.5 amazon/nova-2-lite-v1
.06 .06 .24 amazon/nova-lite-v1
.035 .035 .14 amazon/nova-micro-v1
2.5 .625 12.5 amazon/nova-premier-v1
.8 .8 3.2 amazon/nova-pro-v1
5 .5 25 6.25 anthropic/claude-fable-5:batch
5 .125 25 6.25 anthropic/claude-fable-5.1:batch
4 .1 20 5 anthropic/claude-fable-5.2:batch
.5 .05 2.5 .625 anthropic/claude-haiku-4.5:batch
.05 .005 .25 .0625 >100000 .25 .025 1.25 .3125 anthropic/claude-haiku-5.5:batch
7.5 .75 37.5 9.375 anthropic/claude-opus-4.1:batch
2.5 .25 12.5 3.125 anthropic/claude-opus-4.5:batch anthropic/claude-opus-4.6:batch
anthropic/claude-opus-4.7:batch anthropic/claude-opus-4.8:batch anthropic/claude-opus-5:batch
1.5 .15 7.5 1.875 >200000 3 .3 11.25 3.75 anthropic/claude-sonnet-4.5:batch
1.5 .15 7.5 1.875 anthropic/claude-sonnet-4.6:batch
1 .1 5 1.25 anthropic/claude-sonnet-5:batch
1 .05 5 1.25 anthropic/claude-sonnet-5.5:batch
1.13 .113 3.94 baidu/ernie-light-dt-1.0-intl
.5 .5 2.5 bytedance-seed/seed-2-1-turbo
.25 .25 2 >128000 .5 .5 4 bytedance-seed/seed-2.0-lite
.1 .1 .4 >128000 .2 .2 .8 bytedance-seed/seed-2.0-mini
2.5 2.5 10 cohere/command-a cohere/command-r-plus-08-2024 openai/gpt-audio
.3 .15 1.5 cohere/command-a-plus
.15 .15 .6 cohere/command-r-08-2024 qwen/qwen3-coder-30b-a3b-instruct qwen/qwen3-vl-30b-a3b-instruct
.0375 .0375 .15 cohere/command-r7b-12-2024
.2574 .2574 1.0287 deepseek/deepseek-chat
.29 .11 1.14 deepseek/deepseek-chat-v3-0324
.25 .13 .95 deepseek/deepseek-chat-v3.1
.571 .571 2.286 deepseek/deepseek-r1-0528
.27 .27 1 deepseek/deepseek-v3.1-terminus
.26 .13 .38 deepseek/deepseek-v3.2
.27 .27 .41 deepseek/deepseek-v3.2-exp
.09 .018 .18 deepseek/deepseek-v4-flash
.048 .012 .144 deepseek/deepseek-v4-flash-0731:batch
.44 .014 1.32 deepseek/deepseek-v4-flash-vision-exp
.9 .2 1.5 deepseek/deepseek-v4-pro
1.32 .044 3.96 deepseek/deepseek-v4-pro-0813
.3 .006 1.2 deepseek/deepseek-v4.1-flash meituan/longcat-2.0
.15 .003 .6 deepseek/deepseek-v4.1-flash-1017
.035 .0029 .149 deepseek/deepseek-v4.1-flash-1017:batch
.05 .004 .15 deepseek/deepseek-v4.1-flash:batch
.6 .06 3 elorian/glimpse
3 .3 15 fireworks/ember-1
.3 .03 2.5 .083333 google/gemini-2.5-flash google/gemini-3.5-flash-lite
.1 .01 .4 .083333 google/gemini-2.5-flash-lite
1.25 .125 10 .375 >200000 2.5 .25 15 .375 google/gemini-2.5-pro google/gemini-2.5-pro-preview
.5 .05 3 .083333 google/gemini-3-flash-preview
.25 .25 1.5 google/gemini-3-flash-preview:batch
2 .2 12 .375 google/gemini-3-pro-image
.25 .025 1.5 .083333 google/gemini-3.1-flash-lite google/gemini-3.1-flash-lite-preview
.125 .0125 .75 google/gemini-3.1-flash-lite:batch
2 .2 12 .375 >200000 4 .4 18 .375 google/gemini-3.1-pro-preview google/gemini-3.1-pro-preview-customtools
1 1 6 >200000 2 2 9 google/gemini-3.1-pro-preview:batch
1.5 .15 9 .083333 google/gemini-3.5-flash
.15 .015 1.25 google/gemini-3.5-flash-lite:batch
.75 .075 3.75 .041667 google/gemini-3.6-flash google/gemini-3.7-flash
.375 .0375 1.875 .041667 google/gemini-3.6-flash:batch google/gemini-3.7-flash:batch
google/gemini-3.8-flash:batch
.825 .0825 4.125 .041667 google/gemini-3.8-flash
1 .05 5 .1875 google/gemini-4-argon:batch google/gemini-4-carbon:batch
.75 .0375 3.75 .083333 google/gemini-4-hydrogen:batch
3 .15 15 .083333 google/gemini-4-neon
1.5 1.5 7.5 google/gemini-nano-banana-2.1 mistralai/mistral-medium-3-5
.05 .05 .15 google/gemma-3-12b-it
.08 .08 .16 google/gemma-3-27b-it
.09 .05 .3 google/gemma-4-26b-a4b-it
.2 .2 .4 google/gemma-4-31b-it
.06 .015 .15 ibm-granite/granite-4.2-8b
.021 .0042 .063 inclusionai/ling-3.0-flash
.06 .012 .18 inclusionai/ling-3.0-flash-vl inclusionai/ling-3.1-flash
.015 .003 .045 inclusionai/ling-3.0-tiny
.2 .04 .8 kt/midm-k-3.0-pro
.05 .025 .7 liquid/lfm-2.5-24b-a2b
.08 .02 .2 liquid/lfm-3-1.7b
.72 .72 .72 meta-llama/llama-3.1-70b-instruct
.02 .02 .04 meta-llama/llama-3.1-8b-instruct
.71 .71 .71 meta-llama/llama-3.3-70b-instruct
.35 .17 1 meta-llama/llama-4-maverick
.1 .1 .3 meta-llama/llama-4-scout qwen/qwen3-30b-a3b-instruct-2507
.1 .004 .5 .125 meta/muse-ember
.35 .04 1.5 meta/muse-glimmer-30b
.24 .032 .96 meta/muse-glimmer-30b:batch
1.25 .15 4.25 meta/muse-spark-1.1 meta/muse-spark-1.2 meta/muse-spark-1.3 meta/muse-spark-open
.1 .002 .2 meta/muse-spark-1.2-contributor meta/muse-spark-1.3-contributor
4 .2 20 meta/muse-wonder
.295 .06 1.2 minimax/minimax-m2.5
.21 .042 .84 minimax/minimax-m2.7
.3 .06 1.2 minimax/minimax-m3 motif-technologies/motif-3
.224 .0448 .88 minimax/minimax-m3:batch
.15 .015 .6 minimax/minimax-m3.1-flash mistralai/mistral-small-2603
.3 .03 .9 mistralai/codestral-2508
.4 .04 2 mistralai/devstral-2512
.2 .02 .2 mistralai/ministral-14b-2512
.1 .01 .1 mistralai/ministral-3b-2512
.15 .015 .15 mistralai/ministral-8b-2512
2 .2 6 mistralai/mistral-large mistralai/mistral-large-2407 mistralai/mixtral-8x22b-instruct
.5 .05 1.5 mistralai/mistral-large-2512
.7 .07 2.1 mistralai/mistral-large-4-0
.44 .044 2.2 mistralai/mistral-medium-3 mistralai/mistral-medium-3.1
.75 .75 3.75 mistralai/mistral-medium-3-5:batch
.029 .029 .03 mistralai/mistral-nemo
.2 .02 .6 mistralai/mistral-saba
.351 .351 .555 mistralai/mistral-small-3.1-24b-instruct
.075 .075 .2 mistralai/mistral-small-3.2-24b-instruct
.1 .01 .3 mistralai/voxtral-small-24b-2507
.57 .57 2.3 moonshotai/kimi-k2
.6 .6 2.5 moonshotai/kimi-k2-0905
.6 .15 2.5 moonshotai/kimi-k2-thinking
.41 .07 2.06 moonshotai/kimi-k2.5
.65 .15 3.41 moonshotai/kimi-k2.6
.6 .12 3 moonshotai/kimi-k2.7-code
.192 .182 16 moonshotai/kimi-k3
2.28 .228 11.4 moonshotai/kimi-k3:batch
.253 .18 8.8 moonshotai/kimi-k3.1-pro
.372 .1 5.583 moonshotai/kimi-k3.1-pro:batch
.075 .015 .25 nex-agi/nex-n2.5-pro
.12 .024 .4 nex-agi/nex-n2.6
.06 .012 .24 nvidia/nemotron-3-nano-30b-a3b
.075 .075 .4 nvidia/nemotron-3-super-120b-a12b
.5 .1 2.2 nvidia/nemotron-3-ultra-550b-a55b
.07 .04 .2 nvidia/nemotron-3.5-lightning
.15 .02 .5 nvidia/nemotron-3.5-super-vl
1 1 2 openai/gpt-3.5-turbo-0613
3 3 4 openai/gpt-3.5-turbo-16k
5 5 15 openai/gpt-4-turbo:batch
.2 .05 .8 openai/gpt-4.1-mini:batch
.1 .03 .4 openai/gpt-4.1-nano
.05 .0125 .2 openai/gpt-4.1-nano:batch
1 .25 4 openai/gpt-4.1:batch openai/o3:batch
.075 .0375 .3 openai/gpt-4o-mini:batch openai/gpt-oss-safeguard-20b
1.25 .625 5 openai/gpt-4o:batch
.125 .0125 1 openai/gpt-5-mini:batch
.025 .0025 .2 openai/gpt-5-nano:batch
7.5 7.5 60 openai/gpt-5-pro:batch
.625 .0625 5 openai/gpt-5:batch openai/gpt-5.1:batch
1.25 .13 10 openai/gpt-5.1-codex
.25 .03 2 openai/gpt-5.1-codex-mini
1.75 .175 14 openai/gpt-5.2-chat
10.5 10.5 84 openai/gpt-5.2-pro:batch
.875 .0875 7 openai/gpt-5.2:batch
.375 .0375 2.25 openai/gpt-5.4-mini:batch
.1 .01 .625 openai/gpt-5.4-nano:batch
15 15 90 >272000 30 30 135 openai/gpt-5.4-pro:batch openai/gpt-5.5-pro:batch
1.25 .125 7.5 >272000 2.5 .25 11.25 openai/gpt-5.4:batch
2.5 .25 15 >272000 5 .5 22.5 openai/gpt-5.5:batch
.2 .02 1.2 .25 >272000 .4 .04 1.8 .5 openai/gpt-5.6-luna-pro
.1 .01 .6 >272000 .2 .02 .9 openai/gpt-5.6-luna-pro:batch openai/gpt-5.6-luna:batch
4 .4 20 5 >272000 8 .8 30 10 openai/gpt-5.6-sol-pro
2 .2 10 2.5 >272000 4 .4 15 5 openai/gpt-5.6-sol-pro:batch openai/gpt-5.6-sol:batch openai/gpt-6-sol-pro
2 .2 12 2.5 >272000 4 .4 18 5 openai/gpt-5.6-terra-pro
1 .1 6 >272000 2 .2 9 openai/gpt-5.6-terra-pro:batch openai/gpt-5.6-terra:batch
10 1 50 12.5 >272000 20 2 75 25 openai/gpt-6-astra-pro
5 .5 25 6.25 >272000 10 1 37.5 12.5 openai/gpt-6-astra-pro:batch openai/gpt-6-astra:batch
.05 .005 .25 .0625 >272000 .1 .01 .375 .125 openai/gpt-6-luna-pro:batch openai/gpt-6-luna:batch
1 .1 5 1.25 >272000 2 .2 7.5 2.5 openai/gpt-6-sol-pro:batch openai/gpt-6-sol:batch
.5 .025 2.5 .625 >272000 1 .05 3.75 1.25 openai/gpt-6.1-terra-pro:batch openai/gpt-6.1-terra:batch
4 .2 20 5 >272000 8 .4 30 10 openai/gpt-6.2-astra-pro:batch openai/gpt-6.2-astra:batch
.6 .6 2.4 openai/gpt-audio-mini
5 .5 30 openai/gpt-chat-latest
.09 .09 .36 openai/gpt-oss-120b
.0296 .0296 .136 openai/gpt-oss-120b:batch
.018 .009 .09 openai/gpt-oss-20b
.024 .024 .112 openai/gpt-oss-20b:batch
.55 .275 2.2 openai/o3-mini:batch
.55 .1375 2.2 openai/o4-mini:batch
.07 .006 .5 particle-ai/particle-1
.15 .15 1.5 perceptron/perceptron-mk1.5
.075 .0375 .5 prism-ml/ternary-bonsai-2-27b
.08 .04 .13 prism-ml/ternary-bonsai-2-9b
.36 .36 .4 qwen/qwen-2.5-72b-instruct
.26 .052 .78 .325 >256000 .78 .156 2.34 .975 qwen/qwen-plus
.12 .12 .24 qwen/qwen3-14b
.14 .05 .8 qwen/qwen3-235b-a22b-2507
.45 .45 3.5 qwen/qwen3-235b-a22b-thinking-2507
.12 .12 .5 qwen/qwen3-30b-a3b
.08 .08 .28 qwen/qwen3-32b
.3 .1 1 qwen/qwen3-coder
.195 .039 .975 .24375 >32000 qwen/qwen3-coder-flash
.12 .07 .8 qwen/qwen3-coder-next
.1 .07 1.1 qwen/qwen3-next-80b-a3b-instruct
.21 .1 1.9 qwen/qwen3-vl-235b-a22b-instruct
.25 .12 .75 qwen/qwen3-vl-8b-instruct
.26 .26 2.08 qwen/qwen3.5-122b-a10b
.26 .26 2.6 qwen/qwen3.5-27b
.14 .05 1 qwen/qwen3.5-35b-a3b
.45 .22 3 qwen/qwen3.5-397b-a17b
.17 .17 .25 qwen/qwen3.5-9b
.065 .065 .26 qwen/qwen3.5-flash-02-23
.26 .26 1.56 >256000 .325 .325 1.95 qwen/qwen3.5-plus-02-15
.3 .3 1.8 .375 >256000 .375 .375 2.25 .46875 qwen/qwen3.5-plus-20260420
.32 .32 3.2 qwen/qwen3.6-27b
.1 .025 .9 qwen/qwen3.6-35b-a3b
.1875 .1875 1.125 .234375 >256000 .75 .75 3 .9375 qwen/qwen3.6-flash
.325 .325 1.95 .40625 >256000 1.3 1.3 3.9 1.625 qwen/qwen3.6-plus
.03 .006 .13 .038 >32000 qwen/qwen3.7-flash
1.475 .295 4.425 1.84375 qwen/qwen3.7-max
.32 .064 1.28 .4 >256000 .96 .192 3.84 1.2 qwen/qwen3.7-plus
.23 .23 .92 qwen/qwen3.7-plus:batch
2 .25 6 qwen/qwen3.8-2.4t-a95b qwen/qwen3.8-max-0902 sakana/fugu-max
.06 .059 2.2 qwen/qwen3.8-27b
.16 .04 2 qwen/qwen3.8-27b:batch
.15 .016 .47 qwen/qwen3.8-flash qwen/qwen3.8-omni-flash
1.15 1.15 3.45 qwen/qwen3.8-max-0902:batch
4 .5 12 qwen/qwen3.8-max-prime
1.425 .07125 4.275 1.78125 qwen/qwen4-max
.25 .05 1 reflection/beam-1.0-501b-a23b
.1 .1 .1 rekaai/reka-edge
1 1 3 relace/relace-search
.1 .025 .3 ricursiveai/ripple-65b-preview
5 .5 30 >272000 10 1 45 sakana/fugu-ultra sakana/fugu-ultra-v2
.95 .15 4 sakana/sakana-namazu
.2 .04 1.15 stepfun/step-3.7-flash
1 .1 2.7 stepfun/step-5-preview
.132 .033 .528 tencent/hy3
.18 .06 .6 tencent/hy3-preview
.417 .021 1.2505 tencent/hy4
.035 .0015 .1405 tencent/hy4-flash
.834 .042 2.501 tencent/hy4-preview
1 .17 4.05 thinkingmachines/inkling
.3 .03 1 thinkingmachines/inkling-2-small
.45 .1 1.2 thinkingmachines/inkling-small
.36 .08 .96 thinkingmachines/inkling-small:batch
2.5 .25 7.5 unbiased/pareto-26.9
.05 .005 .2 upstage/solar-mini4
.15 .03 .6 upstage/solar-pro4
1.25 .2 2.5 >200000 2.5 .4 5 x-ai/grok-4.20
1 .16 2 >200000 2 .32 4 x-ai/grok-4.3:batch
1.6 .4 4.8 >200000 3.2 .8 9.6 x-ai/grok-4.6:batch x-ai/grok-4.7:batch
.4 .08 2 xiaomi/mimo-v2.5
.48 .096 1.8 xiaomi/mimo-v2.5-pro
.14 .0028 .28 xiaomi/mimo-v2.6-flash
.435 .0036 .87 xiaomi/mimo-v2.6-pro
4.35 .036 8.7 xiaomi/mimo-v2.6-pro-ultraspeed
.6 .11 2.2 z-ai/glm-4.5
.13 .025 .85 z-ai/glm-4.5-air
.6 .11 1.8 z-ai/glm-4.5v
.5 .1 2 z-ai/glm-4.6
.3 .05 .9 z-ai/glm-4.6v
.4 .08 1.75 z-ai/glm-4.7
.0605 .0605 .4 z-ai/glm-4.7-flash
.6 .119 1.9 z-ai/glm-5
1.2 .24 4 z-ai/glm-5-turbo z-ai/glm-5v-turbo
1.19 .6 3.74 z-ai/glm-5.1
.62 .14 2.42 z-ai/glm-5.2
.322 .109 .989 z-ai/glm-5.2:batch
.023 .009 .068 z-ai/glm-5.3-flash:batch
.37 .075 1.25 z-ai/glm-5.3-flashx z-ai/glm-5.3-flashx-legal
1.68 .336 5.28 z-ai/glm-5.3-prime
.28 .061 1.249 z-ai/glm-5.3:batch
`,
  "vercel-ai-gateway": `
.12 .12 .24 alibaba/qwen-3-14b
.12 .12 .5 alibaba/qwen-3-30b
.15 .15 .6 alibaba/qwen-3-32b alibaba/qwen3-coder-30b-a3b openai/gpt-oss-safeguard-120b
.5 .5 1.2 alibaba/qwen3-coder-next
1.2 .24 6 >32000 alibaba/qwen3-max-thinking
.09 .09 1.1 alibaba/qwen3-next-80b-a3b-instruct
.2 .11 .88 alibaba/qwen3-vl-instruct
.1 .01 .4 .125 alibaba/qwen3.5-flash
.4 .04 2.4 .5 >256000 .5 .05 3 .625 alibaba/qwen3.5-plus
.6 .6 3.6 alibaba/qwen3.6-27b
.375 .375 2.25 alibaba/qwen3.6-35b-a3b
.5 .05 3 .625 >255999 2 .2 6 2.5 alibaba/qwen3.6-plus
.03 .006 .13 .038 >31999 alibaba/qwen3.7-flash
2.5 .5 7.5 3.125 alibaba/qwen3.7-max
.4 .08 1.6 .5 >255999 1.2 .24 4.8 1.5 alibaba/qwen3.7-plus
2 .25 6 alibaba/qwen3.8-2.4t-a95b sakana/fugu-max
.06 .059 2.2 alibaba/qwen3.8-27b
.15 .016 .47 .2 alibaba/qwen3.8-flash
2 .25 6 2.5 alibaba/qwen3.8-max alibaba/qwen3.8-max-0902
4 .5 12 5 alibaba/qwen3.8-max-prime
.15 .016 .47 alibaba/qwen3.8-omni-flash
1.5 .075 4.5 1.875 alibaba/qwen4-max
.33 .0825 2.75 amazon/nova-2-lite
.06 .015 .24 amazon/nova-lite
.035 .0087 .14 amazon/nova-micro
.8 .2 3.2 amazon/nova-pro
5 .5 25 6.25 anthropic/claude-fable-5-batch
5 .125 25 6.25 anthropic/claude-fable-5.1-batch
4 .1 20 5 anthropic/claude-fable-5.2-batch
16 .4 80 20 anthropic/claude-fable-5.2-fast
.5 .05 2.5 .625 anthropic/claude-haiku-4.5-batch
.05 .005 .25 .0625 >100000 .25 .025 1.25 .3125 anthropic/claude-haiku-5.5-batch
2.5 .25 12.5 3.125 anthropic/claude-opus-4.5-batch anthropic/claude-opus-4.6-batch
anthropic/claude-opus-4.7-batch anthropic/claude-opus-4.8-batch anthropic/claude-opus-5-batch
10 1 50 12.5 anthropic/claude-opus-4.8-fast anthropic/claude-opus-5-fast
2 .1 10 2.5 anthropic/claude-opus-5.5-batch
8 .4 40 10 anthropic/claude-opus-5.5-fast
1.5 .15 7.5 1.875 >200000 3 .3 11.25 3.75 anthropic/claude-sonnet-4.5-batch
1.5 .15 7.5 1.875 anthropic/claude-sonnet-4.6-batch
1 .1 5 1.25 anthropic/claude-sonnet-5-batch
1 .05 5 1.25 anthropic/claude-sonnet-5.5-batch
.5 .1 2.5 bytedance/seed-2.1-turbo
.5 .2 3 callstack/apex
2.5 2.5 10 cohere/command-a
1.35 1.35 5.4 deepseek/deepseek-r1
.25 .13 .95 deepseek/deepseek-v3.1
.62 .62 1.85 deepseek/deepseek-v3.2 deepseek/deepseek-v3.2-thinking
.13 .028 .26 deepseek/deepseek-v4-flash deepseek/deepseek-v4-flash-0731
.2156 .0068 .6468 deepseek/deepseek-v4-flash-vision-exp
1.32 .132 3.96 deepseek/deepseek-v4-pro
.66 .066 1.98 deepseek/deepseek-v4-pro-0813
.3 .006 1.2 deepseek/deepseek-v4.1-flash meituan/longcat-2.5
.3 .007 1.2 deepseek/deepseek-v4.1-flash-1017
.6 .014 2.4 deepseek/deepseek-v4.1-flash-1017-fast deepseek/deepseek-v4.1-flash-fast
2.4 .048 9.6 deepseek/deepseek-v4.1-flash-1017-ultrafast
3 .3 15 fireworks/ember-1
.15 .03 1.25 google/gemini-2.5-flash-batch
.05 .01 .2 google/gemini-2.5-flash-lite-batch
.625 .125 5 >200000 1.25 .25 7.5 google/gemini-2.5-pro-batch
.5 .05 3 >200000 .5 .05 3 google/gemini-3-flash
.25 .05 1.5 >200000 .25 .05 1.5 google/gemini-3-flash-batch
.25 .03 1.5 google/gemini-3.1-flash-lite
.125 .015 .75 google/gemini-3.1-flash-lite-batch
1 .2 6 >200000 2 .4 9 google/gemini-3.1-pro-preview-batch
.15 .015 1.25 google/gemini-3.5-flash-lite-batch
.375 .0375 1.875 google/gemini-3.6-flash-batch
.15 .015 .6 google/gemma-4-26b-a4b-it
.14 .14 .4 google/gemma-4-31b-it
.1 .01 .35 inception/mercury-3
.021 .0042 .063 inclusionai/ling-3.0-flash
.075 .015 .22 inclusionai/ling-3.0-flash-fin inclusionai/ling-3.0-flash-sante inclusionai/ling-3.0-flash-vl
.3 .06 .9 inclusionai/ling-3.1-flash inclusionai/ling-3.1-flash-1019
1.5 1.5 3.5 interfaze/interfaze-beta
.05 .025 .7 liquid/lfm2.5-24b-a2b
.72 .72 .72 meta/llama-3.1-70b meta/llama-3.3-70b
.22 .22 .22 meta/llama-3.1-8b
.24 .24 .97 meta/llama-4-maverick
.17 .17 .66 meta/llama-4-scout
.1 .004 .5 meta/muse-ember
.35 .04 1.5 meta/muse-glimmer-30b
1.25 .15 4.25 meta/muse-spark-open
.3 .15 1.2 minimax/minimax-m2.1
.3 .3 1.2 minimax/minimax-m2.5
.21 .042 .84 minimax/minimax-m2.7
.2 .02 .2 mistral/ministral-14b
.5 .05 1.5 mistral/mistral-large-3
.029 .029 .03 mistral/mistral-nemo
.3 .036 .72 mixedbread/toast-1
.57 .57 2.3 moonshotai/kimi-k2
.6 .6 3 moonshotai/kimi-k2.5
6 .6 22.5 moonshotai/kimi-k3-fast
4 .2 20 5 moonshotai/kimi-k3.1-pro-highspeed
.15 .15 .65 nvidia/nemotron-3-super-120b-a12b
.6 .12 2.4 nvidia/nemotron-3-ultra-550b-a55b
.06 .03 .16 nvidia/nemotron-3.5-lightning
.2 .04 .5 nvidia/nemotron-3.5-super-vl
.2 .2 .6 nvidia/nemotron-nano-12b-v2-vl
.06 .06 .23 nvidia/nemotron-nano-9b-v2
1 .25 4 openai/gpt-4.1-batch
3.5 .875 14 openai/gpt-4.1-fast openai/o3-fast
.2 .05 .8 openai/gpt-4.1-mini-batch
.7 .175 2.8 openai/gpt-4.1-mini-fast
.1 .03 .4 openai/gpt-4.1-nano
1.25 .625 5 openai/gpt-4o-batch
4.25 2.125 17 openai/gpt-4o-fast
.075 .0375 .3 openai/gpt-4o-mini-batch
.25 .125 1 openai/gpt-4o-mini-fast
.625 .0625 5 openai/gpt-5-batch
1.25 .13 10 openai/gpt-5-codex openai/gpt-5.1-codex
2.5 .25 20 openai/gpt-5-fast openai/gpt-5.1-thinking-fast
.125 .0125 1 openai/gpt-5-mini-batch
.45 .045 3.6 openai/gpt-5-mini-fast
.025 .0025 .2 openai/gpt-5-nano-batch
7.5 7.5 60 openai/gpt-5-pro-batch
.25 .03 2 openai/gpt-5.1-codex-mini
1.25 .125 10 openai/gpt-5.1-thinking
.875 .0875 7 openai/gpt-5.2-batch
3.5 .35 28 openai/gpt-5.2-fast openai/gpt-5.3-codex-fast
1.25 .125 7.5 >271999 2.5 .25 11.25 openai/gpt-5.4-batch
5 .5 30 openai/gpt-5.4-fast
.375 .0375 2.25 openai/gpt-5.4-mini-batch
1.5 .15 9 openai/gpt-5.4-mini-fast
.1 .01 .625 openai/gpt-5.4-nano-batch
2.5 .25 15 >271999 5 .5 22.5 openai/gpt-5.5-batch
12.5 1.25 75 openai/gpt-5.5-fast
15 15 90 >271999 30 30 135 openai/gpt-5.5-pro-batch
.1 .01 .6 .125 >271999 .2 .02 .9 .25 openai/gpt-5.6-luna-batch
.4 .04 2.4 .5 >271999 .8 .08 3.6 1 openai/gpt-5.6-luna-fast
2 .2 10 2.5 >271999 4 .4 15 5 openai/gpt-5.6-sol-batch
8 .8 40 10 >271999 16 1.6 60 20 openai/gpt-5.6-sol-fast
1 .1 6 1.25 >271999 2 .2 9 2.5 openai/gpt-5.6-terra-batch
4 .4 24 5 >271999 8 .8 36 10 openai/gpt-5.6-terra-fast
5 .5 25 6.25 >272000 10 1 37.5 12.5 openai/gpt-6-astra-batch
20 2 100 25 >272000 40 4 150 50 openai/gpt-6-astra-fast
.05 .005 .25 .0625 >272000 .1 .01 .375 .125 openai/gpt-6-luna-batch
.2 .02 1 .25 >272000 .4 .04 1.5 .5 openai/gpt-6-luna-fast
1 .1 5 1.25 >272000 2 .2 7.5 2.5 openai/gpt-6-sol-batch
4 .4 20 5 >272000 8 .8 30 10 openai/gpt-6-sol-fast
1 .05 5 1.25 >272000 2 .1 7.5 2.5 openai/gpt-6.1-sol-batch
4 .2 20 5 >272000 8 .4 30 10 openai/gpt-6.1-sol-fast openai/gpt-6.2-sol-fast
2 .1 10 2.5 >272000 4 .2 15 5 openai/gpt-6.1-terra-fast
16 .8 80 20 >272000 32 1.6 120 40 openai/gpt-6.2-astra-fast
.1 .1 .5 openai/gpt-oss-120b
.03 .03 .14 openai/gpt-oss-20b
.07 .07 .2 openai/gpt-oss-safeguard-20b
.15 .03 .5 paperinstruments/ultramarine-1-flash
.125 .015 .5 particle/particle-1
4 .4 20 5 quiverai/arrow-2
6 .6 30 7.5 quiverai/arrow-2-telos
5 .5 30 >272000 10 1 45 sakana/fugu-ultra sakana/fugu-ultra-v2
.95 .15 4 sakana/namazu
1.25 .2 2.5 >200000 2.5 .4 5 spacexai/grok-4.20-multi-agent spacexai/grok-4.20-multi-agent-beta
spacexai/grok-4.20-non-reasoning spacexai/grok-4.20-non-reasoning-beta spacexai/grok-4.20-reasoning
spacexai/grok-4.20-reasoning-beta
1 .16 2 >200000 2 .32 4 spacexai/grok-4.20-multi-agent-batch spacexai/grok-4.20-non-reasoning-batch
spacexai/grok-4.20-reasoning-batch spacexai/grok-4.3-batch
.2 .04 1.15 stepfun/step-3.7-flash
1 .1 2.7 stepfun/step-5-preview
.14 .035 .58 tencent/hy3
.417 .021 1.2505 tencent/hy4
.035 .0015 .1405 tencent/hy4-flash
.834 .042 2.501 tencent/hy4-preview
1 .17 4.05 thinkingmachines/inkling
.3 .03 1 thinkingmachines/inkling-2-small
.45 .1 1.2 thinkingmachines/inkling-small
.6 .11 2.2 zai/glm-4.5 zai/glm-4.6
.2 .03 1.1 zai/glm-4.5-air
.6 .11 1.8 zai/glm-4.5v
.6 .6 2.2 zai/glm-4.7
.07 .07 .4 zai/glm-4.7-flash
.06 .01 .4 zai/glm-4.7-flashx
1 1 3.2 zai/glm-5
1.4 .26 4.4 zai/glm-5.1
1.4 .14 4.4 zai/glm-5.2 zai/glm-5.3
2.8 .56 8.8 zai/glm-5.2-fast
2.1 .21 6.6 zai/glm-5.3-fast
.37 .075 1.25 zai/glm-5.3-flashx zai/glm-5.3-flashx-legal
1.2 .24 4 zai/glm-5v-turbo
`,
  "cloudflare-ai-gateway": `
.44 .014 1.32 workers-ai/@cf/deepseek-ai/deepseek-v4-flash-0731
1.32 .044 3.96 workers-ai/@cf/deepseek-ai/deepseek-v4-pro-0813
.3 .006 1.2 workers-ai/@cf/deepseek-ai/deepseek-v4.1-flash-1017
.1 .05 .3 workers-ai/@cf/google/gemma-4-26b-a4b-it
.017 .017 .112 workers-ai/@cf/ibm-granite/granite-4.0-h-micro
.293 .293 2.253 workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast
.27 .27 .85 workers-ai/@cf/meta/llama-4-scout-17b-16e-instruct
.351 .351 .555 workers-ai/@cf/mistralai/mistral-small-3.1-24b-instruct
.5 .5 1.5 workers-ai/@cf/nvidia/nemotron-3-120b-a12b
.35 .35 .75 workers-ai/@cf/openai/gpt-oss-120b
.2 .2 .3 workers-ai/@cf/openai/gpt-oss-20b
.0509 .0509 .335 workers-ai/@cf/qwen/qwen3-30b-a3b-fp8
.45 .05 3.2 workers-ai/@cf/qwen/qwen3.8-27b
.3 .1 1 workers-ai/@cf/thinkingmachines/inkling-2-small
.0605 .0605 .4 workers-ai/@cf/zai-org/glm-4.7-flash
.1 .03 .4 gpt-4.1-nano
1.25 .625 5 gpt-4o
.075 .0375 .3 gpt-4o-mini
5 5 30 gpt-5.5
`,
  opencode: `
.2 .02 1.2 .25 qwen3.5-plus
.5 .05 3 .625 qwen3.6-plus
.15 .016 .47 .2 qwen3.8-flash
1.74 .145 3.48 deepseek-v4-pro
.3 .006 1.2 deepseek-v4.1-flash
.6 .1 3 kimi-k2.5
.3 .06 1.2 minimax-m2.5 minimax-m2.7
.68 .07 2.09 mistral-large-4
2 .25 6 2.5 qwen3.8-max
1.07 .107 8.5 gpt-5 gpt-5-codex gpt-5.1 gpt-5.1-codex
.25 .025 2 gpt-5.1-codex-mini
1 .2 2 grok-build-0.1
`,
  "opencode-go": `
.4 .04 1.6 .5 >256000 1.2 .12 4.8 1.5 qwen3.7-plus
.15 .016 .47 .2 qwen3.8-flash
2 .25 6 2.5 qwen3.8-max
1.5 .075 4.5 1.875 qwen4-max
.15 .003 .6 deepseek-v4.1-flash
.14 .035 .58 hy3
.834 .042 2.501 hy4 hy4-preview
.3 .006 1.2 longcat-2.0
.14 .0028 .28 mimo-v2.5
.435 .003625 .87 mimo-v2.5-pro mimo-v2.6-pro
1 .1 2.7 step-5-preview
`,
  radius: `
3 .3 15 balanced
.3 .006 1.2 cheap deepseek-v4.1-flash
4 .4 20 5 >272000 8 .8 30 10 precise
`,
};

const source = {
  source: "https://www.npmjs.com/package/@earendil-works/pi-ai/v/1.6.0",
  asOf: "2026-11-28",
  note: "the table of pi 1.6.0, generated 2026-11-20",
} as const;

/** The rows of pi's table. A write for an hour costs twice the input of Claude at all hosts. */
export const listedPrices: readonly ModelPrice[] = Object.entries(listed).flatMap(([provider, text]) => {
  const rows: ModelPrice[] = [];
  let read: string[] = [];
  let isNames = false;
  for (const word of text.trim().split(/\s/)) {
    const isNumber = /^>?[\d.]{1,12}$/.test(word);
    if (isNumber && isNames) read = [];
    isNames = !isNumber;
    if (isNumber) read.push(word);
    else rows.push({ ...source, provider, model: word, ...ratesIn(word, read) });
  }
  return rows;
});

function ratesIn(
  model: string,
  words: readonly string[],
): Pick<ModelPrice, "long"> & ReturnType<typeof rates> {
  const at = words.findIndex((word) => word.startsWith(">"));
  const own = listedRates(model, at === -1 ? words : words.slice(0, at));
  if (at === -1) return own;
  const above = Number(words[at]?.slice(1));
  const long = words.slice(at + 1);
  return { ...own, long: { above, ...(long.length > 0 && { rates: listedRates(model, long) }) } };
}

function listedRates(model: string, words: readonly string[]): ReturnType<typeof rates> {
  const [input = 0, cacheRead = input, output = 0, cacheWrite = input] = words.map(Number);
  const isClaude = model.includes("claude") && cacheWrite > input;
  return {
    ...rates(input, cacheRead, output, cacheWrite),
    ...(isClaude && { cacheWrite1h: exact(input * 2) }),
  };
}
