export interface Key {
  readonly name: string;
  /** The name of the algorithm in the API, such as `hmac-sha256`. */
  readonly algorithm: string;
  /** The secret in base64. */
  readonly secret: string;
}
