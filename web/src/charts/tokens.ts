export type Colour = readonly [red: number, green: number, blue: number];

/** A colour that a design token has, as #rrggbb or, as the build shortens it, #rgb. */
export function colourOf(name: string): Colour {
  const hex = token(name).replace("#", "");
  const n = parseInt(hex.length === 3 ? hex.replace(/./g, "$&$&") : hex, 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** The value of a design token, as canvases need it. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
