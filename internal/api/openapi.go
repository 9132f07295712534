package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
)

// object is one of JSON.
type object = map[string]any

// describing serves the description of all routes.
func describing(document []byte) route {
	return route{
		method: http.MethodGet, path: root + "/openapi.json", title: "This description", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = w.Write(document) // whoever asked may be gone
		},
	}
}

// openAPI describes the routes in the words of OpenAPI.
func openAPI(version string, routes []route) ([]byte, error) {
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		if r.title == "" || strings.Contains(r.path, "{") {
			continue
		}
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = r.operation()
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "tensortap", "version": version,
			"description": "What tensortap answers on the command line, over HTTP. NaN and infinity are the texts NaN, Infinity and -Infinity; null is what was not measured; ids are 16 hex digits. " +
				"The header Tensortap-Incomplete, a JSON list, says what is missing of an answer.",
		},
		"paths":    paths,
		"security": []object{{"token": []string{}}, {}},
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"schemas":         object{"Problem": problemSchema()},
			"responses": object{"Problem": object{
				"description": "Why there is no answer.", "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
			}},
		},
	}, "", " ")
}

func problemSchema() object {
	return object{
		"type": "object", "required": []string{"status", "error"},
		"properties": object{
			"status":       object{"type": "integer"},
			"error":        object{"type": "string", "description": "The sentence for people."},
			"parameter":    object{"type": "string", "description": "The parameter that is at fault, where one is."},
			"unknown_run":  object{"type": "string", "description": "A name that no run has."},
			"nearest_runs": object{"type": "array", "items": object{"type": "string"}, "description": "Of an unknown run, names most like it."},
		},
	}
}

// operation is one route.
func (r *route) operation() object {
	parameters := make([]object, len(r.parameters))
	for i := range r.parameters {
		parameters[i] = r.parameters[i].described()
	}
	operation := object{
		"summary": r.title, "description": r.doc, "parameters": parameters, "operationId": operationID(r),
		"responses": object{
			"200":     object{"description": "The answer.", "content": r.contents()},
			"default": object{"$ref": "#/components/responses/Problem"},
		},
	}
	if r.body != nil {
		operation["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": r.body}}}
	}
	if r.unknown {
		operation["security"] = []object{}
	}
	return operation
}

// operationID is a name for programs that are made of the description.
func operationID(r *route) string {
	name := strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(strings.TrimPrefix(r.path, root+"/"))
	return strings.ToLower(r.method) + "_" + name
}

func (r *route) contents() object {
	if r.media != "" {
		return object{r.media: object{"schema": object{"type": "string"}}}
	}
	if len(r.formats) == 0 {
		return object{"application/json": object{"schema": object{"type": "object"}}}
	}
	contents := object{}
	for _, name := range r.formats {
		format := report.Format(name)
		media, _, _ := strings.Cut(mediaTypes()[format], ";")
		contents[media] = object{"schema": rowsSchema(format)}
	}
	return contents
}

func rowsSchema(format report.Format) object {
	if format != report.JSON {
		return object{"type": "string", "format": "binary"}
	}
	return object{
		"type": "object", "required": []string{"rows"},
		"properties": object{"rows": object{"type": "array", "items": object{"type": "object"}}},
	}
}

// described is a parameter.
func (p *parameter) described() object {
	schema := object{"type": jsonType(p.Type)}
	if len(p.Values) > 0 {
		schema["enum"] = p.Values
	}
	if p.Default != "" {
		schema["default"] = typedDefault(p)
	}
	if strings.HasSuffix(p.Type, "64") && !strings.HasPrefix(p.Type, "Float") {
		schema["format"] = "int64"
	}
	if p.Many {
		schema = object{"type": "array", "items": schema}
	}
	return object{"name": p.Name, "in": "query", "required": p.Required, "description": p.Doc, "schema": schema}
}

func jsonType(of string) string {
	switch {
	case strings.HasPrefix(of, "Float"):
		return "number"
	case strings.HasPrefix(of, "Int"), strings.HasPrefix(of, "UInt"):
		return "integer"
	case of == boolean:
		return "boolean"
	}
	return "string"
}

// typedDefault is a default as JSON has it.
func typedDefault(p *parameter) any {
	switch jsonType(p.Type) {
	case "number":
		if number, err := strconv.ParseFloat(p.Default, 64); err == nil && json.Valid([]byte(p.Default)) {
			return number
		}
	case "integer":
		if number, err := strconv.ParseInt(p.Default, 10, 64); err == nil {
			return number
		}
	case "boolean":
		return p.Default == "true"
	}
	return p.Default
}
