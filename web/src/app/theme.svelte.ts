type Theme = "light" | "dark";

const kept = "tensortap-theme";

class Look {
  theme: Theme = $state(first());

  constructor() {
    this.#show();
  }

  turn(): void {
    this.theme = this.theme === "dark" ? "light" : "dark";
    localStorage.setItem(kept, this.theme);
    this.#show();
  }

  #show(): void {
    document.documentElement.dataset["theme"] = this.theme;
  }
}

function first(): Theme {
  const chosen = localStorage.getItem(kept);
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export const look = new Look();
