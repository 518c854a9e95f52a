/** Of what the benchmarks use; the package has no types. */
declare module "cacache" {
  const cacache: {
    put(
      cache: string,
      key: string,
      data: Buffer,
      options: { readonly algorithms: readonly string[] },
    ): Promise<unknown>;
  };
  export default cacache;
}
