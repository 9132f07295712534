package credentials

import (
	"fmt"
	"strconv"
	"strings"
)

// user is one user of NATS.
type user struct {
	role, run string // the run of a producer
	public    string // its key
}

// usersFile is the users with their rights, as the NATS server's configuration includes it.
func usersFile(users []user) string {
	var text strings.Builder
	text.WriteString(`# Written by tensortap credentials. It holds no secret: a user is known by the public half of a key.
# Whoever is not listed is refused, and so is what a user's rights do not name.
accounts {
  TAP {
    jetstream: enabled
    users: [
`)
	for _, u := range users {
		text.WriteString(u.block())
	}
	text.WriteString("    ]\n  }\n}\n")
	return text.String()
}

// block is the user's part of the file. Answers to what it asks reach it under a subject that no other user may hear.
func (u user) block() string {
	rights := rightsOf(u.role, u.run)
	hear := append([]string{"_INBOX." + u.public + ".>"}, rights.Hear...)
	text := fmt.Sprintf("      # %s\n      { nkey: %s, permissions: {\n        publish: { allow: %s", u.title(), u.public, quoted(rights.Publish))
	if len(rights.Deny) > 0 {
		text += ", deny: " + quoted(rights.Deny)
	}
	text += " }\n        subscribe: { allow: " + quoted(hear) + " }\n"
	if rights.Answers {
		text += "        allow_responses: { max: 65536, expires: \"2m\" }\n"
	}
	return text + "      } }\n"
}

func (u user) title() string {
	if u.role == producer {
		return "producer of run " + strconv.Quote(u.run)
	}
	return u.role
}
