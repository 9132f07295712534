// Whether the program wants to know who asks, by a token.
import { whenLocked } from "../api/client";

class Pass {
  wanted = $state(false);

  constructor() {
    whenLocked(() => {
      this.wanted = true;
    });
  }
}

export const pass = new Pass();
